"""A proxy between a client and one HTTP server on loopback that spoils single requests.

For every request it asks `fate(request)` what to do: None passes it on; a `Fault` spoils it before the server saw it,
or after the server has answered. Requests are numbered in the order in which they arrive. Whoever uses it can change
the fate at any time.
"""
import base64
import json
import re
import socket
import struct
import threading
import time

LENGTH = re.compile(rb'\r\ncontent-length: *(\d+)', re.I)
CHUNKED = re.compile(rb'\r\ntransfer-encoding: *chunked', re.I)
CONTINUE = re.compile(rb'\r\nexpect: *100-continue', re.I)
REASONS = {200: 'OK', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found', 429: 'Too Many Requests'}
GARBAGE = b'<html>not what was asked for</html>'


class Closed(Exception):
    """The other side ended the connection between two messages."""


class Request:
    """One request as the proxy read it."""

    def __init__(self, number, head, body):
        self.number, self.head, self.body = number, head, body
        self.method, self.target = head.split(b' ', 2)[0].decode(), head.split(b' ', 2)[1].decode()

    @property
    def operations(self):
        """The operations of a batch; none when it is another request."""
        if self.method != 'POST' or '/api/vault/batch/' not in self.target:
            return []
        return json.loads(self.body)['operations']

    @property
    def is_write(self):
        return any(operation['op'] != 'read' for operation in self.operations) or self.method in ('PUT', 'DELETE')


class Fault:
    """What becomes of a request.

    `kind` is a status, or one of `drop` (the connection ends), `reset` (it breaks), `stall` (no answer for `seconds`,
    then it ends), `cut` (the answer ends after `count` bytes, or after that share of it when `count` is below one),
    `garbage` (200 with a page), `edit` (`edit(request, answer)` gives the body instead), `late` (the connection ends
    at once; the server gets the request `seconds` later), `gateway` (502 when the answer has more than `count` bytes).
    `when` is `before` or `after` the server has done it.
    """

    def __init__(self, kind, when='before', headers='', seconds=1.0, count=0.5, edit=None):
        self.kind, self.when, self.headers = kind, when, headers
        self.seconds, self.count, self.edit = seconds, count, edit


class Stream:
    """A socket read by messages."""

    def __init__(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.pending = connection, b''

    def more(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise Closed
        return piece

    def take(self, count):
        pieces, left = [self.pending], count - len(self.pending)
        while left > 0:
            pieces.append(self.more())
            left -= len(pieces[-1])
        whole = b''.join(pieces)
        self.pending = whole[count:]
        return whole[:count]

    def line(self, end=b'\r\n'):
        while end not in self.pending:
            self.pending += self.more()
        line, self.pending = self.pending.split(end, 1)
        return line

    def message(self, invite=False, has_body=True):
        """Head and body of the next message."""
        head = self.line(b'\r\n\r\n')
        if invite and CONTINUE.search(head):
            self.socket.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
        if CHUNKED.search(head):
            body = b''
            while size := int(self.line().split(b';')[0], 16):
                body += self.take(size)
                self.take(2)
            self.take(2)
            return head, body
        length = LENGTH.search(head)
        return head, self.take(int(length.group(1))) if length and has_body else b''


class FaultProxy:
    """Listens on a free port until its block ends."""

    def __init__(self, upstream):
        """`upstream`: the port of the server."""
        self.upstream, self.fate = upstream, lambda request: None
        self.lock, self.count, self.waiting = threading.Lock(), 0, []
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f'http://127.0.0.1:{self.port}'

    def __enter__(self):
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        # Closing alone would leave the thread in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def set(self, fate):
        """A new fate; requests are numbered from 0 again."""
        with self.lock:
            self.fate, self.count = fate, 0

    def settle(self):
        """Waits until what was put off is done."""
        for thread in self.waiting:
            thread.join()
        self.waiting.clear()

    def listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        client, server = Stream(connection), None
        try:
            while True:
                head, body = client.message(invite=True)
                with self.lock:
                    request = Request(self.count, head, body)
                    self.count += 1
                    fault = self.fate(request)
                if fault is None or fault.when == 'after':
                    server = server or Stream(socket.create_connection(('127.0.0.1', self.upstream), timeout=60))
                    server.socket.sendall(head + b'\r\n\r\n' + body)
                    answer = server.message(has_body=request.method != 'HEAD')
                else:
                    answer = b'', b''
                if fault is None:
                    client.socket.sendall(answer[0] + b'\r\n\r\n' + answer[1])
                elif not self.spoil(fault, request, client.socket, *answer):
                    return
        except (Closed, OSError):
            pass
        finally:
            for stream in (client, server):
                if stream:
                    stream.socket.close()

    def spoil(self, fault, request, connection, head, body):
        """Answers a spoilt request; true when the connection goes on."""
        kind = fault.kind
        if kind == 'edit':
            body = fault.edit(request, body)
            connection.sendall(answer(200, body))
            return True
        if kind == 'gateway':
            is_refused = len(body) > fault.count
            connection.sendall(answer(502, b'') if is_refused else head + b'\r\n\r\n' + body)
            return True
        if kind == 'garbage':
            connection.sendall(answer(200, GARBAGE))
            return True
        if isinstance(kind, int):
            connection.sendall(answer(kind, b'{"detail":"injected"}', fault.headers))
            return True
        if kind == 'stall':
            time.sleep(fault.seconds)
        elif kind == 'cut':
            if not head:                                    # nothing was asked of the server: half of some answer
                head, body = answer(200, b'{"results":[]}').split(b'\r\n\r\n', 1)
            whole = head + b'\r\n\r\n' + body
            connection.sendall(whole[:int(len(whole) * fault.count) if fault.count < 1 else fault.count])
        elif kind == 'reset':
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        elif kind == 'late':
            thread = threading.Thread(target=self.deliver, args=(request, fault.seconds), daemon=True)
            self.waiting.append(thread)
            thread.start()
        elif kind != 'drop':
            raise ValueError(f'there is no fault {kind}')
        return False

    def deliver(self, request, seconds):
        time.sleep(seconds)
        with socket.create_connection(('127.0.0.1', self.upstream), timeout=60) as connection:
            connection.sendall(request.head + b'\r\n\r\n' + request.body)
            Stream(connection).message()


def answer(status, body, headers=''):
    return (f'HTTP/1.1 {status} {REASONS.get(status, "Fault")}\r\nContent-Type: application/json\r\n{headers}'
            f'Content-Length: {len(body)}\r\n\r\n').encode() + body


# ---------------------------------------------------------------- answers with other content

def replace_reads(changes):
    """An edit: the data of every read whose file id `changes(file_id, data)` gives other bytes for."""
    def edit(request, body):
        document = json.loads(body)
        for result in document['results']:
            if result['status'] == 'ok' and 'data' in result:
                new = changes(result['file_id'], base64.b64decode(result['data']))
                if new is not None:
                    result['data'] = base64.b64encode(new).decode()
        return json.dumps(document).encode()
    return edit


def swap_objects(request, body):
    """An edit: the objects of a batch trade places."""
    document = json.loads(body)
    objects = [result for result in document['results'] if 'obj-cas-imm' in result['file_id'] and 'data' in result]
    data = [result['data'] for result in objects]
    for result, other in zip(objects, data[1:] + data[:1]):
        result['data'] = other
    if len(objects) == 1:
        objects[0]['data'] = base64.b64encode(b'\0' * 60).decode()
    return json.dumps(document).encode()


def conflict_inside(current=None):
    """An edit: 200, and inside a conflict of the last conditional write with `current`, or with its own bytes."""
    def edit(request, _):
        operations = request.operations
        last = max(number for number, operation in enumerate(operations) if operation['op'] == 'write-if-match')
        results = [dict(op=each['op'], file_id=each['file_id'], status='ok') for each in operations[:last]]
        held = base64.b64encode(current).decode() if current else operations[last]['data']
        file_id = operations[last]['file_id']
        results.append(dict(op='write-if-match', file_id=file_id, status='conflict', current=held))
        return json.dumps(dict(vault_id='', results=results)).encode()
    return edit
