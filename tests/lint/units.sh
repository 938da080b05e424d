#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The unit of the gateway is well made, and gives it no namespace of its own:
# callers of the control socket have to be in the same ones.
cd "$(dirname "$0")/../.." || exit 1
unit=dist/duenna.service.in
bad=0
# systemd.exec(5): each of these makes a mount, PID, user or network namespace.
own='ProtectSystem|ProtectHome|ProtectKernelTunables|ProtectKernelModules|ProtectKernelLogs|ProtectControlGroups|ProtectProc|ProcSubset|PrivateTmp|PrivateDevices|PrivateMounts|PrivateNetwork|PrivateUsers|PrivatePIDs|PrivateIPC|NetworkNamespacePath|ReadWritePaths|ReadOnlyPaths|InaccessiblePaths|ExecPaths|NoExecPaths|BindPaths|BindReadOnlyPaths|TemporaryFileSystem|MountAPIVFS|RootDirectory|RootImage|MountFlags|MountImages|ExtensionImages|DynamicUser|LogNamespace|LoadCredential|SetCredential'
if grep -nE "^($own)[A-Za-z]*=" $unit; then
	echo "$unit: a namespace of its own"
	bad=1
fi
grep -q '^StateDirectoryMode=0700$' $unit || { echo "$unit: others see the state"; bad=1; }
if command -v systemd-analyze >/dev/null; then
	folder=$(mktemp -d) || exit 1
	trap 'rm -rf "$folder"' EXIT
	sed "s,@DUENNA@,$(command -v true)," $unit >"$folder/duenna.service"
	# Other units of this host are not ours to judge.
	said=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no \
		"$folder/duenna.service" 2>&1 | grep -F "$folder")
	[[ -z $said ]] || { echo "$said"; bad=1; }
fi
exit $bad
