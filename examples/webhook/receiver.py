import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
seen = set()  # keep it in the database of the copy

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        id, sent_at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        digest = hmac.new(KEY, f"{id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
        signature = "v1," + base64.b64encode(digest).decode()
        given = self.headers["webhook-signature"].split()
        valid = any(hmac.compare_digest(signature, each) for each in given) and abs(time.time() - int(sent_at)) < 300
        if valid and id not in seen:
            change = json.loads(body)
            print(change["type"], change["data"]["userId"], flush=True)
            seen.add(id)
        self.send_response(204 if valid else 400)
        self.end_headers()

HTTPServer(("", int(os.environ["PORT"])), Receiver).serve_forever()
