import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const seen = new Set(); // keep it in the database of the copy

createServer(async (request, response) => {
  request.setEncoding('utf8'); // a character may be in two chunks
  let body = '';
  for await (const chunk of request) body += chunk;
  try {
    const { type, data } = webhook.verify(body, request.headers);
    if (!seen.has(data.id)) console.log(type, data.userId);
    seen.add(data.id);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(process.env.PORT);
