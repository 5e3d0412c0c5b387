"""vaultctl on a pseudo-terminal: what it writes there, what it does with the keys that are typed."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
import unicodedata


class Terminal:
    """One command with a terminal of its own as standard streams, so that `/dev/tty` is this terminal as well."""

    def __init__(self, vaultctl, *arguments, cwd, columns=80, **environment):
        self.out, self.status = b'', None
        given = {**vaultctl.environment, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', **environment}
        # The command's side stays open here, so that what it leaves the terminal in can still be read.
        self.side, self.other = pty.openpty()
        fcntl.ioctl(self.other, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        mode = termios.tcgetattr(self.other)
        mode[1] &= ~termios.OPOST                           # line ends as they were written
        termios.tcsetattr(self.other, termios.TCSANOW, mode)
        self.process = os.fork()
        if self.process == 0:
            try:
                os.setsid()
                fcntl.ioctl(self.other, termios.TIOCSCTTY, 0)
                for stream in (0, 1, 2):
                    os.dup2(self.other, stream)
                os.chdir(cwd)
                os.execve(vaultctl.binary, [vaultctl.binary, *arguments], given)
            finally:
                os._exit(127)
        vaultctl.calls += 1

    def read(self, until=None, seconds=60):
        """Reads on until a text has come, or to the end of the command."""
        end = time.monotonic() + seconds
        while until is None or until not in self.out:
            is_over = self.is_over()                        # asked before the look: what was written is there then
            if select.select([self.side], [], [], 0 if is_over else 0.02)[0]:
                self.out += os.read(self.side, 65536)
            elif is_over:
                if until is not None:
                    raise AssertionError(f'{until!r} never came, but {self.out!r}')
                break
            elif time.monotonic() > end:
                self.kill()
                raise AssertionError(f'nothing came for {seconds} s but {self.out!r}')
        return self.out

    def is_over(self):
        if self.status is None:
            found, status = os.waitpid(self.process, os.WNOHANG)
            self.status = status if found else None
        return self.status is not None

    def type(self, data):
        os.write(self.side, data)

    def echoes(self):
        """Whether what is typed is shown."""
        return bool(termios.tcgetattr(self.other)[3] & termios.ECHO)

    def kill(self, with_signal=signal.SIGKILL):
        os.kill(self.process, with_signal)

    def end(self):
        """The exit code, 128 and the signal where one ended it; and whether the terminal shows again what is typed."""
        self.read()
        code, echoes = os.waitstatus_to_exitcode(self.status), self.echoes()
        os.close(self.side)
        os.close(self.other)
        return (code if code >= 0 else 128 - code), echoes


def shown(vaultctl, *arguments, cwd, code=0, **how):
    """What a command writes to a terminal."""
    terminal = Terminal(vaultctl, *arguments, cwd=cwd, **how)
    found, _ = terminal.end()
    if found != code:
        raise AssertionError(f'vaultctl {" ".join(map(str, arguments))}: exit {found}, not {code}\n{terminal.out!r}')
    return terminal.out


def columns_of(text):
    """How many columns a line takes."""
    return sum(0 if unicodedata.combining(letter) or unicodedata.category(letter) == 'Cf'
               else 2 if unicodedata.east_asian_width(letter) in 'WF' else 1 for letter in text)
