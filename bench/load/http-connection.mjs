// One connection over which requests are sent one after another (HTTP/1.1). Written out because the load must cost less than
// what it loads: about 10 µs a request, where fetch takes 100.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKS_END = Buffer.from('0\r\n\r\n');

export class HttpConnection {
  #socket;
  #received = [];
  #length = 0;
  #isExpecting = false;
  /** Bytes of the whole answer; null while its head is not there, infinite when it comes in chunks. */
  #expected = null;

  /** @param onAnswer is given the whole answer, head and body, as bytes */
  constructor(port, onAnswer, onFailure) {
    this.onAnswer = onAnswer;
    this.onFailure = onFailure;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (bytes) => this.#receive(bytes));
    this.#socket.on('error', (error) => onFailure(error));
    this.#socket.on('close', () => {
      if (this.#isExpecting) onFailure(new Error('The server closed the connection'));
    });
  }

  send(text) {
    this.#isExpecting = true;
    this.#socket.write(text);
  }

  close() {
    this.#isExpecting = false;
    this.#socket.destroy();
  }

  #receive(bytes) {
    this.#received.push(bytes);
    this.#length += bytes.length;
    this.#expected ??= expectedLength(this.#joined());
    if (this.#expected === null) return;
    if (this.#expected === Infinity ? !endsWith(bytes, CHUNKS_END) : this.#length < this.#expected) return;
    const answer = this.#joined();
    this.#received = [];
    this.#length = 0;
    this.#expected = null;
    this.#isExpecting = false;
    this.onAnswer(answer);
  }

  #joined() {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0];
  }
}

/** Null while the head is not complete. */
function expectedLength(bytes) {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return null;
  const head = bytes.latin1Slice(0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  // JSON has no line feeds outside of the chunks' own: the end of the last chunk stands nowhere else.
  return length === undefined ? Infinity : end + HEAD_END.length + Number(length);
}

function endsWith(bytes, ending) {
  return bytes.length >= ending.length && bytes.subarray(bytes.length - ending.length).equals(ending);
}
