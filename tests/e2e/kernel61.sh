#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# End-to-end tests on Debian 12's own kernel (6.1), in QEMU without hardware
# help: as root, then as an ordinary user.
#
# usage: kernel61.sh [PYTEST-ARGUMENT...]     default: test_ns.py test_nft.py
#
#	DUENNA_BUILD=DIR	the build to be tried (build)
#	KERNEL61_CACHE=DIR	where the kernel is kept (build/kernel61)
#	KERNEL61_SECONDS=N	the most it may take (900)
#
# The kernel's package is fetched with apt-get download and unpacked, nothing
# is installed.  The guest is this machine's own programs, copied into memory;
# it has no disk and no network.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
tree=$PWD
build=$(readlink -f "${DUENNA_BUILD:-build}")
cache=${KERNEL61_CACHE:-$tree/build/kernel61}
limit=${KERNEL61_SECONDS:-900}
tests=("$@")
((${#tests[@]})) || tests=(test_ns.py test_nft.py)

# What the tests run, besides what these need by ldd.
packages=(base-files base-passwd bash busybox-static coreutils curl dash
	debianutils diffutils findutils git grep iproute2 kmod libc-bin
	libpython3.11-minimal libpython3.11-stdlib mawk mount netbase nftables openssl
	procps python3 python3.11 python3.11-minimal python3-minimal
	python3-attr python3-iniconfig python3-more-itertools
	python3-packaging python3-pkg-resources python3-pluggy python3-py
	python3-pygments python3-pytest sed tar util-linux)
missing() { echo "kernel61: $1 is missing: skipped" >&2; exit 77; }
command -v qemu-system-x86_64 >/dev/null || missing qemu-system-x86_64
command -v cpio >/dev/null || missing cpio
[[ -x $build/tests/peers/ns-probe ]] || missing "$build/tests/peers/ns-probe"

# ------------------------------------------------------------------ the kernel
mkdir -p "$cache"
if [[ ! -d $cache/kernel/boot ]]; then
	name=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		awk '/Depends: linux-image-6\.1/ { print $2; exit }')
	[[ -n $name ]] || missing 'linux-image-cloud-amd64'
	(cd "$cache" && apt-get -q download "$name" >/dev/null 2>&1) ||
		missing "$name"
	dpkg-deb -x "$cache/$name"_*.deb "$cache/kernel"
	depmod -b "$cache/kernel" "$(ls "$cache/kernel/lib/modules")"
fi
vmlinuz=$(echo "$cache"/kernel/boot/vmlinuz-*)

# ------------------------------------------------------------------- the guest
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,dev,proc,sys,run,tmp}
mkdir -p "$root"/{etc,var/lib,home,mnt,root,srv,opt,tree/build}
for link in bin sbin lib lib64; do ln -s "usr/$link" "$root/$link"; done

# Files of the packages, as tar reads a list; links of /usr-merge are ours.
for package in "${packages[@]}"; do
	dpkg -L "$package" 2>/dev/null || missing "the package $package"
done | grep -vE '^/usr/share/(doc|man|locale|info|lintian|bug)/' |
	sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#' | sort -u |
	while read -r path; do
		if [[ -f $path || -L $path ]] && [[ ! -d $path || -L $path ]]; then
			echo ".$path"
		fi
	done >"$work/list"
tar -C / --no-recursion -T "$work/list" -cf - | tar -C "$root" -xf -
for file in proxyd/duenna nft/duenna-nft tests/peers/ns-probe; do
	[[ -e $build/$file ]] || continue
	mkdir -p "$root/tree/build/$(dirname "$file")"
	cp "$build/$file" "$root/tree/build/$file"
done
cp -a tests "$root/tree/tests"
cp -a /etc/alternatives /etc/ssl /etc/nsswitch.conf /etc/ld.so.* \
	"$root/etc/" 2>/dev/null || true
printf '%s\n' 'root:x:0:0::/root:/bin/bash' \
	'nobody:x:65534:65534::/:/bin/false' \
	'tester:x:1000:1000::/home/tester:/bin/bash' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' 'tester:x:1000:' \
	>"$root/etc/group"
printf 'root:*:::::::\n' >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"
for link in awk which; do
	[[ -L /etc/alternatives/$link ]] &&
		ln -sf "/etc/alternatives/$link" "$root/usr/bin/$link"
done

# The libraries of all that.
find "$root/usr" "$root/tree/build" -type f \( -perm -u+x -o -name '*.so*' \) \
	-print0 | { xargs -0 -r ldd 2>/dev/null || true; } |
	awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/lib/ { print $1 }' |
	sort -u | while read -r path; do
	to=$root$(echo "$path" | sed -E 's#^/(lib|lib64)/#/usr/\1/#')
	[[ -e $to ]] && continue
	mkdir -p "$(dirname "$to")"
	cp -L "$path" "$to"
done
cp -a "$cache/kernel/lib/modules" "$root/usr/lib/modules"

cat >"$root/guest" <<'GUEST'
#!/bin/bash
# The first process of the guest's real root.
export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 DUENNA_BUILD=/tree/build
echo guest >/proc/sys/kernel/hostname
ip link set lo up
mkdir -p /dev/pts /dev/shm /home/tester
mount -t devpts -o ptmxmode=0666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
[[ -e /dev/ptmx ]] || ln -s pts/ptmx /dev/ptmx
chown 1000:1000 /home/tester
chmod 1777 /tmp /tree/build
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
# They would be loaded when wanted, but under emulation that takes its time.
modprobe -a overlay nf_tables nft_chain_nat nft_redir nft_ct nft_limit nft_log \
	nfnetlink_log
uname -r
read -r -a tests </tree/tests.args
cd /tree/tests/e2e
status=0
for who in root tester; do
	echo "== as $who"
	as=()
	[[ $who == root ]] || as=(setpriv --reuid 1000 --regid 1000 --clear-groups
		--inh-caps=-all env "HOME=/home/tester")
	"${as[@]}" ./bed.py enter -- /usr/bin/python3 -B -m pytest -q --color=no --tb=short \
		"${tests[@]}" </dev/null || status=1
done
echo "KERNEL61-STATUS $status"
echo b >/proc/sysrq-trigger
sleep 60
GUEST
cat >"$root/init" <<'INIT'
#!/usr/bin/busybox sh
# Out of the initial file system, from which nobody can pivot, into a new one.
/usr/bin/busybox mount -t proc proc /proc
/usr/bin/busybox mount -t sysfs sysfs /sys
/usr/bin/busybox mount -t devtmpfs dev /dev
/usr/bin/busybox mkdir /new
/usr/bin/busybox mount -t tmpfs -o size=90%,mode=755 root /new
for x in /bin /sbin /lib /lib64 /usr /etc /var /home /mnt /opt /root /srv /tree /guest; do
	/usr/bin/busybox cp -a $x /new/
done
/usr/bin/busybox mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp
for x in proc sys dev; do /usr/bin/busybox mount --move /$x /new/$x; done
exec /usr/bin/busybox switch_root /new /guest
INIT
chmod +x "$root/guest" "$root/init"
echo "${tests[*]}" >"$root/tree/tests.args"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"
echo "kernel61: $(basename "$vmlinuz"), $(($(stat -c %s "$work/initrd") >> 20)) MiB in memory"

# -------------------------------------------------------------------- the run
timeout --foreground "$limit" qemu-system-x86_64 -M microvm,acpi=off,rtc=on \
	-accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nodefaults -no-user-config \
	-display none -serial stdio -no-reboot -kernel "$vmlinuz" \
	-initrd "$work/initrd" </dev/null \
	-append "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t rdinit=/init mitigations=off" |
	sed -u 's/\r$//' | tee "$work/out" || true
status=$(sed -n 's/^KERNEL61-STATUS //p' "$work/out")
[[ -n $status ]] || { echo 'kernel61: the guest did not come to its end' >&2; exit 1; }
exit "$status"
