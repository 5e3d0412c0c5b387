#!/usr/bin/env python3
"""Stand-in vault server for tests: the real routes and the real server's batch, compare-and-swap, write-key and
tombstone rules, over memory (or a folder). Loopback only, standard library only.

  vault_server.py PORT [--token T] [--dir FOLDER] [--presigned] [--ranges] [--log FILE.jsonl] [--port-file F]
                       [--ends-with-stdin] [--tls-cert F --tls-key F] [--brief-log]

PORT 0 takes a free one, which --port-file names. --brief-log: lengths instead of headers and bodies in the log. Test control (never on a real server):
  POST /_test/fault   {"match": "part of METHOD path", "body_has": "part", "count": 1, "skip": 0, "when": "before" |
                       "after", "status": 503 | "drop" | "stall" | "truncate" | "garbage" | "endless",
                       "headers": {}, "body": "", "seconds": 5}     queue one fault rule
  POST /_test/hook    {"match": ..., "body_has": ..., "command": "shell command"}  run once, before the request
  POST /_test/plant   {"vault": ..., "file": ..., "data": base64 or null}   change a file behind the server's back
  GET  /_test/log     exchanges so far;   POST /_test/reset   clear faults, hooks and the log (not the data)
"""
import argparse, base64, hashlib, json, os, re, socket, ssl, subprocess, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

ap = argparse.ArgumentParser()
ap.add_argument('port', type=int); ap.add_argument('--token', default=''); ap.add_argument('--dir', default='')
ap.add_argument('--presigned', action='store_true'); ap.add_argument('--log', default='')
ap.add_argument('--ranges', action='store_true'); ap.add_argument('--port-file', default='')
ap.add_argument('--ends-with-stdin', action='store_true'); ap.add_argument('--brief-log', action='store_true')
ap.add_argument('--tls-cert', default=''); ap.add_argument('--tls-key', default='')
args = ap.parse_args()

VAULT_ID  = re.compile(r'^[a-z0-9]{8,24}$')
MAX_OPS   = 100
PART_SIZE = 10 * 1024 * 1024
LOCK      = threading.RLock()
FILES, MANIFESTS, UPLOADS = {}, {}, {}          # (vault, file) -> bytes ; vault -> manifest or tombstone ; upload id -> parts
FAULTS, HOOKS, LOG = [], [], []

def persist():
    if args.dir:
        os.makedirs(args.dir, exist_ok=True)
        tmp = os.path.join(args.dir, 'store.json.tmp')
        with open(tmp, 'w') as f:
            json.dump(dict(files=[[v, k, base64.b64encode(d).decode()] for (v, k), d in FILES.items()], manifests=MANIFESTS), f)
        os.replace(tmp, os.path.join(args.dir, 'store.json'))
if args.dir and os.path.isfile(os.path.join(args.dir, 'store.json')):
    saved = json.load(open(os.path.join(args.dir, 'store.json')))
    MANIFESTS.update(saved['manifests'])
    FILES.update({(v, k): base64.b64decode(d) for v, k, d in saved['files']})

class Err(Exception):
    def __init__(self, status, detail): self.status, self.detail = status, detail

def key_hash(write_key): return hashlib.sha256(write_key.encode()).hexdigest()      # of the header text as sent
def key_ok(vault, write_key):
    m = MANIFESTS.get(vault)
    if m is None: return True
    return m.get('status') != 'deleted' and m.get('write_key_hash') == key_hash(write_key)
def ensure_manifest(vault, write_key):
    MANIFESTS.setdefault(vault, dict(vault_id=vault, write_key_hash=key_hash(write_key), created_at=int(time.time() * 1000)))
def b64(data): return base64.b64encode(data).decode('ascii')

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'; disable_nagle_algorithm = True
    def log_message(self, *a): pass

    @staticmethod
    def encoded(body):
        return body if isinstance(body, bytes) else json.dumps(body, separators=(',', ':')).encode()

    def reply(self, status, body=b'', content_type='application/json', headers=None):
        body = self.encoded(body)
        self.send_response(status)
        self.send_header('Content-Type', content_type); self.send_header('Content-Length', str(len(body)))
        for k, v in (headers or {}).items(): self.send_header(k, v)
        self.end_headers()
        if self.command != 'HEAD': self.wfile.write(body)
        return status, body

    def serve(self):
        length = int(self.headers.get('Content-Length') or 0)
        body   = self.rfile.read(length) if length else b''
        line   = f'{self.command} {self.path}'
        if self.path.startswith('/_test/'): return self.control(body)
        for hook in list(HOOKS):
            if hook['match'] in line and hook.get('body_has', '') in body.decode('latin1'):
                HOOKS.remove(hook); subprocess.run(hook['command'], shell=True)
        fault = None
        with LOCK:
            for f in FAULTS:
                if f['match'] in line and f.get('body_has', '') in body.decode('latin1') and f.get('count', 1) > 0:
                    if f.get('skip', 0) > 0:
                        f['skip'] -= 1; continue
                    f['count'] = f.get('count', 1) - 1; fault = f; break
        if fault and fault.get('when', 'before') == 'before': return self.fail(fault, line, body)
        try:
            with LOCK:
                status, out, ctype, headers = self.route(body)
                if self.command != 'GET': persist()
        except Err as e: status, out, ctype, headers = e.status, dict(detail=e.detail), 'application/json', None
        except Exception as e:
            status, out, ctype, headers = 500, dict(detail='An unexpected error occurred.', error=str(e), stack_trace='...'), 'application/json', None
        if fault: return self.fail(fault, line, body, out, ctype)
        # Noted before it is sent: who has the answer finds it in the log.
        out = self.encoded(out)
        self.note(body, status, out)
        self.reply(status, out, ctype, headers)

    def fail(self, fault, line, body, out=b'', ctype='application/json'):
        kind = fault['status']
        if kind == 'stall': time.sleep(fault.get('seconds', 5)); kind = 'drop'
        if kind == 'truncate':
            if not isinstance(out, bytes): out = json.dumps(out).encode()
            self.send_response(200)
            self.send_header('Content-Type', ctype); self.send_header('Content-Length', str(len(out) + 1000))
            self.end_headers(); self.wfile.write(out[:len(out) // 2]); self.wfile.flush()
            kind = 'drop'
        if kind == 'drop':
            self.note(body, 0, b''); self.close_connection = True
            try: self.connection.shutdown(socket.SHUT_RDWR)
            except OSError: pass
            return
        if kind == 'endless':
            # An error whose body goes on until the other side hangs up.
            self.note(body, 500, b''); self.close_connection = True
            self.send_response(500); self.end_headers()
            try:
                while True: self.wfile.write(b'x' * 65536)
            except OSError: return
        if kind == 'garbage': kind, fault = 200, dict(fault, body=fault.get('body') or '<html>not what you asked for</html>')
        text = fault['body'].encode() if fault.get('body') else dict(detail='injected')
        text = self.encoded(text)
        self.note(body, int(kind), text)
        self.reply(int(kind), text, headers=fault.get('headers'))

    def note(self, body, status, sent):
        e = dict(method=self.command, path=self.path, status=status)
        if args.brief_log: e.update(received=len(body), sent=len(sent))
        else: e.update(headers=dict(self.headers.items()), body_b64=b64(body), response_b64=b64(sent))
        with LOCK:
            LOG.append(e)
            if args.log:
                with open(args.log, 'a') as f: f.write(json.dumps(e) + '\n')

    def control(self, body):
        if self.path == '/_test/log':   return self.reply(200, LOG)
        if self.path == '/_test/plant':
            d = json.loads(body); key = (d['vault'], d['file'])
            if d['data'] is None: FILES.pop(key, None)
            else: FILES[key] = base64.b64decode(d['data'])
            return self.reply(200, {})
        if self.path == '/_test/reset': FAULTS.clear(); HOOKS.clear(); LOG.clear(); return self.reply(200, {})
        (FAULTS if self.path == '/_test/fault' else HOOKS).append(json.loads(body)); return self.reply(200, {})

    # ---- routes -----------------------------------------------------------
    def token(self):
        if args.token and self.headers.get('x-sgraph-access-token', '') != args.token: raise Err(401, 'Access token required')
    def write_key(self):
        k = self.headers.get('x-sgraph-vault-write-key', '')
        if not k: raise Err(400, 'Missing write key')
        return k

    def route(self, body):
        parts = urlsplit(self.path); path = unquote(parts.path)
        if path == '/info/health': return 200, dict(status='ok'), 'application/json', None
        if path.startswith('/_s3/'): return self.s3(path, body)
        m = re.match(r'^/api/vault/(presigned/[a-z-]+|[a-z0-9-]+)/([^/]+)(?:/(.+))?$', path)
        if not m: raise Err(404, 'Not Found')
        name, vault, file_id = m.groups()
        method = self.command
        table = {('write', 'PUT'), ('read', 'GET'), ('read-base64', 'GET'), ('delete', 'DELETE'), ('batch', 'POST'), ('list', 'GET'),
                 ('health', 'GET'), ('destroy', 'DELETE'), ('presigned/initiate', 'POST'), ('presigned/complete', 'POST'),
                 ('presigned/cancel', 'POST'), ('presigned/read-url', 'GET')}
        if (name, method) not in table:
            raise Err(405, 'Method Not Allowed') if name in {n for n, _ in table} else Err(404, 'Not Found')
        if name in ('write', 'read', 'read-base64', 'delete') and not file_id: raise Err(400, 'Missing file_id in path')
        if not VAULT_ID.match(vault): raise Err(400, 'vault_id must be an opaque lowercase alphanumeric string (8-24 chars, no hyphens)')
        J = 'application/json'
        if name == 'write':
            self.token(); wk = self.write_key()
            if not body: raise Err(400, 'Empty payload')
            if not key_ok(vault, wk): raise Err(403, 'Write key mismatch')
            ensure_manifest(vault, wk); FILES[(vault, file_id)] = body
            return 200, dict(file_id=file_id, vault_id=vault, status='completed'), J, None
        if name in ('read', 'read-base64'):
            data = FILES.get((vault, file_id))
            if data is None: raise Err(404, 'Vault file not found')
            if name == 'read' and args.ranges: return self.ranged(data)
            if name == 'read': return 200, data, 'application/octet-stream', None
            if len(data) > 3750000: raise Err(413, 'File too large for base64 download. Use /api/vault/read/{vault_id}/{file_id} instead.')
            return 200, dict(vault_id=vault, file_id=file_id, data=b64(data), size=len(data)), J, None
        if name == 'delete':
            self.token(); wk = self.write_key()
            if not key_ok(vault, wk) or (vault, file_id) not in FILES: raise Err(403, 'Write key mismatch or file not found')
            del FILES[(vault, file_id)]
            return 200, dict(file_id=file_id, vault_id=vault, status='deleted'), J, None
        if name == 'list':
            prefix = (parse_qs(parts.query, keep_blank_values=True).get('prefix') or [''])[0]
            files  = [k for (v, k) in FILES if v == vault and (not prefix or k.startswith(prefix.rstrip('/') + '/'))]
            return 200, dict(vault_id=vault, prefix=prefix, files=files), J, None
        if name == 'health':
            m = MANIFESTS.get(vault)
            if m is None or m.get('status') == 'deleted': raise Err(404, 'Vault not found')
            return 200, dict(status='ok', vault_id=vault), J, None
        if name == 'destroy':
            self.token(); wk = self.write_key()
            try: doc = json.loads(body)
            except Exception: raise Err(400, 'Request body must be JSON with vault_id field')
            if doc.get('vault_id', '') != vault: raise Err(409, 'vault_id in body does not match vault_id in URL')
            if not key_ok(vault, wk): raise Err(403, 'Write key mismatch')
            gone = [k for k in FILES if k[0] == vault]
            n    = len(gone) + (1 if vault in MANIFESTS else 0)                  # the manifest counts as a file
            for k in gone: del FILES[k]
            MANIFESTS[vault] = dict(vault_id=vault, status='deleted', deleted_at=int(time.time() * 1000))
            return 200, dict(status='deleted', vault_id=vault, files_deleted=n), J, None
        if name.startswith('presigned/'): return self.presigned(name[10:], vault, file_id, body)
        return 200, self.batch(vault, body), J, None

    def batch(self, vault, body):
        ops = json.loads(body).get('operations', [])
        if not ops: raise Err(400, 'No operations provided')
        if len(ops) > MAX_OPS: raise Err(400, f'Too many operations (max {MAX_OPS})')
        def read(fid):
            data = FILES.get((vault, fid))
            return dict(file_id=fid, status='not_found') if data is None else dict(file_id=fid, status='ok', data=b64(data))
        if all(op.get('op') == 'read' for op in ops):
            return dict(vault_id=vault, results=[read(op.get('file_id', '')) for op in ops])
        self.token(); wk = self.write_key()
        if not key_ok(vault, wk): raise Err(403, 'Write key mismatch')
        ensure_manifest(vault, wk)
        results = []
        for op in ops:                                                           # in order, each applied at once: no rollback
            kind, fid = op.get('op'), op.get('file_id', '')
            if kind == 'read': results.append(read(fid))
            elif kind == 'write':
                FILES[(vault, fid)] = base64.b64decode(op['data']); results.append(dict(op='write', file_id=fid, status='ok'))
            elif kind == 'write-if-match':
                cur  = FILES.get((vault, fid)); want = base64.b64decode(op['match']) if op.get('match') else None
                if cur == want:
                    FILES[(vault, fid)] = base64.b64decode(op['data']); results.append(dict(op=kind, file_id=fid, status='ok'))
                else:
                    results.append(dict(op=kind, file_id=fid, status='conflict', current=b64(cur) if cur else None)); break
            elif kind == 'delete':
                gone = FILES.pop((vault, fid), None)
                results.append(dict(op='delete', file_id=fid, status='ok' if gone is not None else 'not_found'))
            else:
                results.append(dict(op=kind or 'unknown', file_id=fid, status='error', detail='unknown operation')); break
        return dict(vault_id=vault, results=results)

    # ---- presigned (emulated object store on this same host) ---------------
    def base(self): return f'{"https" if args.tls_cert else "http"}://127.0.0.1:{args.port}'
    def presigned(self, step, vault, file_id, body):
        J = 'application/json'
        if step == 'read-url':
            if not args.presigned: raise Err(400, 'S3 storage mode required')
            return 200, dict(url=f'{self.base()}/_s3/{vault}/get/{file_id}?sig=1', expires_in=3600), J, None
        self.token(); wk = self.write_key()
        if not args.presigned: raise Err(400, 'S3 storage mode required for presigned uploads' if step == 'initiate' else 'Presigned URLs not available')
        if not key_ok(vault, wk): raise Err(403, 'Write key mismatch')
        doc = json.loads(body)
        if step == 'initiate':
            n = int(doc.get('num_parts') or 0); size = int(doc['file_size_bytes'])
            if n == 0: n, part = max(1, -(-size // PART_SIZE)), PART_SIZE
            else: part = max(5 * 1024 * 1024, -(-size // n))
            if n > 10000: raise Err(400, 'Maximum 10000 parts allowed')
            uid = uuid.uuid4().hex; UPLOADS[uid] = {}
            return 200, dict(upload_id=uid, part_urls=[dict(part_number=i, upload_url=f'{self.base()}/_s3/{vault}/part/{uid}/{i}?sig=1') for i in range(1, n + 1)], part_size=part), J, None
        if step == 'cancel':
            UPLOADS.pop(doc['upload_id'], None); return 200, dict(status='cancelled'), J, None
        parts = UPLOADS.pop(doc['upload_id']); data = []
        for p in sorted(doc['parts'], key=lambda p: p['part_number']):
            assert p['etag'] == f'"{hashlib.md5(parts[p["part_number"]]).hexdigest()}"', 'InvalidPart'
            data.append(parts[p['part_number']])
        data = b''.join(data)
        FILES[(vault, doc['file_id'])] = data
        return 200, dict(status='ok', etag=f'"{hashlib.md5(data).hexdigest()}-{len(parts)}"'), J, None

    def s3(self, path, body):
        _, _, vault, kind, rest = path.split('/', 4)
        if kind == 'part':
            uid, n = rest.split('/'); UPLOADS[uid][int(n)] = body
            return 200, b'', 'application/xml', {'ETag': f'"{hashlib.md5(body).hexdigest()}"'}
        data = FILES.get((vault, rest))
        if data is None: raise Err(404, 'NoSuchKey')
        return self.ranged(data)

    def ranged(self, data):
        m = re.match(r'bytes=(\d+)-(\d+)$', self.headers.get('Range', ''))
        if not m: return 200, data, 'application/octet-stream', {'Accept-Ranges': 'bytes'}
        a, z = int(m.group(1)), min(int(m.group(2)), len(data) - 1)
        if a >= len(data): return 416, b'', 'application/xml', {'Content-Range': f'bytes */{len(data)}'}
        return 206, data[a:z + 1], 'application/octet-stream', {'Content-Range': f'bytes {a}-{z}/{len(data)}'}

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve

class Server(ThreadingHTTPServer):
    daemon_threads = True; request_queue_size = 64
if __name__ == '__main__':
    server = Server(('127.0.0.1', args.port), Handler)
    args.port = server.server_address[1]
    if args.tls_cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(args.tls_cert, args.tls_key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    if args.port_file:
        with open(args.port_file + '.new', 'w') as f: f.write(str(args.port))
        os.replace(args.port_file + '.new', args.port_file)
    if args.ends_with_stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    print(f'listening on http://127.0.0.1:{args.port}', flush=True)
    server.serve_forever()
