/** One end of the channel between a process and its child: `process` or a ChildProcess. */
interface Port {
  readonly connected: boolean;
  send?: (message: object, onSent: () => void) => boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
}

const TYPES = ['notify', 'ask', 'reply'] as const;

interface Envelope {
  readonly type: (typeof TYPES)[number];
  readonly id: number;
  readonly kind: string;
  readonly value: unknown;
}

/** Handles a message or a request of one kind. The result is the reply to a request. */
export type MessageHandlers = Readonly<Record<string, (value: unknown) => unknown>>;

/** Messages and requests between a process and its child. Values are JSON. */
export class Messenger {
  private readonly waiting = new Map<number, (value: unknown) => void>();
  private last = 0;

  constructor(
    private readonly port: Port,
    private readonly handlers: MessageHandlers,
  ) {
    port.on('message', (message: unknown) => {
      if (isEnvelope(message)) void this.receive(message);
    });
    port.on('disconnect', () => {
      for (const settle of this.waiting.values()) settle(null);
      this.waiting.clear();
    });
  }

  /** Sends a message, and resolves when it was sent. It is lost if the other process has ended. */
  async notify(kind: string, value: unknown = null): Promise<void> {
    await this.send({ type: 'notify', id: 0, kind, value });
  }

  /** Sends a request. The reply is null if the other process ends or does not know this kind. */
  ask(kind: string, value: unknown = null): Promise<unknown> {
    const id = ++this.last;
    return new Promise((resolve) => {
      if (this.port.connected) this.waiting.set(id, resolve);
      else resolve(null);
      void this.send({ type: 'ask', id, kind, value });
    });
  }

  private async receive({ type, id, kind, value }: Envelope): Promise<void> {
    if (type === 'reply') {
      this.waiting.get(id)?.(value);
      this.waiting.delete(id);
      return;
    }
    const result: unknown = await this.handlers[kind]?.(value);
    if (type === 'ask') await this.send({ type: 'reply', id, kind, value: result ?? null });
  }

  /** Resolves when the message was sent. The other process may end at any time, which its supervisor notices. */
  private send(envelope: Envelope): Promise<void> {
    return new Promise((resolve) => {
      if (this.port.connected && this.port.send !== undefined) this.port.send(envelope, resolve);
      else resolve();
    });
  }
}

/** Others, such as process managers, may send messages of their own on the channel. */
function isEnvelope(message: unknown): message is Envelope {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false;
  return TYPES.some((type) => type === message.type);
}
