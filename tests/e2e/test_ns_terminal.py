# SPDX-License-Identifier: Apache-2.0
"""The sandbox itself: the caller's terminal, its keyboard and its jobs."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pytest

from bed import as_user, processes
from ns_bed import place


class Terminal:
    """An interactive shell of the caller's on a terminal of its own."""

    def __init__(self, place):
        self.seen = ''
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(place.work)
            line = as_user(['bash', '--norc', '--noprofile', '-i'])
            os.execvpe(line[0], line, place.environment(
                PS1='$ ', PROBE=' '.join(place.line(root=True) + ['--'])))
        self.pid = pid
        self.expect('$ ')

    def expect(self, text, timeout=10):
        """All that comes up to TEXT."""
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, 'no %r in %r' % (text, self.seen)
            if select.select([self.fd], [], [], left)[0]:
                self.seen += os.read(self.fd, 4096).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text + '\n')
        self.expect('\n')

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(place):
    one = Terminal(place)
    yield one
    one.close()


def test_the_keyboard_interrupts_the_command(terminal):
    terminal.line('$PROBE sh -c "echo on; exec sleep 100"')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    terminal.expect('$ ')
    terminal.line('echo "status=$?"')
    terminal.expect('status=130')


def test_the_keyboard_ends_the_script_around_it_too(terminal):
    terminal.line('bash -c \'$PROBE sh -c "echo on; exec sleep 100"; echo AFTER\'')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    assert 'AFTER' not in terminal.expect('$ ')


def test_a_command_that_handles_the_interrupt_goes_on(terminal):
    terminal.line('$PROBE sh -c \'trap "echo caught" INT; echo on; '
                  'read x; echo got:$x\'')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    terminal.expect('caught')
    terminal.type('more\n')
    terminal.expect('got:')


def test_the_command_stops_and_goes_on_as_a_job(terminal):
    terminal.line('$PROBE sh -c "stty -echo; echo on; read x; echo got:$x; '
                  'read y; echo end"')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('stty -a | grep -o " -*echo "; jobs | wc -l')
    assert terminal.expect('$ ').split() == ['echo', '1']
    terminal.line('fg')
    terminal.expect('\n')
    terminal.type('a\n')
    terminal.expect('got:')
    terminal.type('\x1a')
    terminal.expect('$ ')
    terminal.line('bg; sleep 0.3; jobs')
    terminal.expect('$ ')
    terminal.line('fg')
    terminal.type('b\n')
    terminal.expect('end')
    terminal.expect('$ ')


def test_a_job_in_a_subshell_stops_and_goes_on(terminal):
    terminal.line('(trap "" USR1; $PROBE sh -c "echo on; read x; '
                  'echo got:\\$x; exit 4"; exit $?); echo status=$?')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('fg')
    terminal.expect('\n')
    terminal.type('a\n')
    terminal.expect('got:a')
    terminal.expect('$ ')
    terminal.line('jobs | wc -l')
    assert terminal.expect('$ ').split() == ['0']


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ,
                struct.pack('HHHH', rows, columns, 0, 0))


def test_the_command_hears_of_the_terminals_size(terminal):
    resize(terminal, 24, 80)
    terminal.line('$PROBE bash -c \'trap "stty size" WINCH; echo on; '
                  'while :; do read -t 0.1 x; done\'')
    terminal.expect('on\r\n')
    resize(terminal, 31, 97)
    terminal.expect('31 97')


def test_who_hangs_up_ends_the_command(place, terminal):
    terminal.line('$PROBE sleep 4321')
    deadline = time.monotonic() + 10
    while not (family := [p for p, (_, line) in processes().items()
                          if line[:2] == ['sleep', '4321']]):
        assert time.monotonic() < deadline, 'it does not begin'
        time.sleep(0.02)
    os.close(terminal.fd)
    terminal.fd = os.open('/dev/null', os.O_RDONLY)
    deadline = time.monotonic() + 10
    while os.path.exists('/proc/%d' % family[0]) or os.listdir(
            place.state + '/homes'):
        assert time.monotonic() < deadline, 'it lives on'
        time.sleep(0.02)


def test_a_neighbour_in_a_pipeline_has_the_keyboard(terminal):
    terminal.line('$PROBE echo data | '
                  'sh -c "cat; read x < /dev/tty; echo got:\\$x"')
    terminal.expect('data')
    terminal.type('typed\n')
    terminal.expect('got:typed')
    terminal.expect('$ ')


def test_a_command_in_a_pipeline_gets_the_keyboard_when_it_asks(terminal):
    terminal.line('$PROBE sh -c "echo on; read x < /dev/tty; echo got:\\$x"'
                  ' | cat')
    terminal.expect('on')
    terminal.type('typed\n')
    terminal.expect('got:typed')
    terminal.expect('$ ')


@pytest.mark.parametrize('end', ['kill -9 $$', 'exit 0'])
def test_the_terminal_is_back_in_its_modes(terminal, end):
    terminal.line('$PROBE sh -c "stty raw -echo; %s"; stty -a'
                  % end.replace('$', '\\$'))
    modes = terminal.expect('$ ')
    assert ' icanon' in modes and ' echo ' in modes


def test_a_shell_in_there_has_jobs_of_its_own(terminal):
    terminal.line('$PROBE bash --norc --noprofile -i')
    before = terminal.expect('$ ')
    assert 'cannot set terminal' not in before
    assert 'no job control' not in before
    terminal.line('tty')
    assert terminal.expect('$ ').startswith('/dev/console\r\n')
    terminal.line('sh -c "echo on; exec sleep 100"')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('kill %1; fg; echo in:$$')
    terminal.expect('in:')
    terminal.line('exit 5')
    terminal.line('echo status=$?')
    terminal.expect('status=5')


def test_nothing_is_typed_into_the_callers_terminal(place, terminal):
    """On the own terminal, where the kernel itself would allow it."""
    place.write('project/type.py', 'import fcntl\n'
                'for request in (0x5412, 0x541C, 1 << 32 | 0x5412):\n'
                '    try:\n'
                '        fcntl.ioctl(0, request, b"x")\n'
                '        print("typed")\n'
                '    except OSError as e:\n'
                '        print(e.strerror)\n')
    terminal.line('$PROBE /usr/bin/python3 type.py; echo end')
    assert terminal.expect('end\r\n').split('\r\n') == \
        ['Operation not permitted'] * 3 + ['']


def test_the_terminals_of_others_are_not_there(terminal):
    terminal.line('$PROBE sh -c "ls /dev/pts; echo end"')
    assert terminal.expect('end').split() == ['ptmx']
