import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { portOf } from './free-port.js';

type Mode = 'pass' | 'black-hole' | 'drop-replies';

/**
 * A TCP proxy between a client and a real server that misbehaves on command. A command concerns the
 * connections that are open as well as those to come; faults end with `pass()`.
 */
export class FaultProxy implements AsyncDisposable {
  private mode: Mode = 'pass';
  private latencyMs = 0;
  private cutAtNextReply: { readonly passBytes: number; readonly happened: () => void } | undefined;
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private target: { readonly host?: string; readonly port: number },
    /** Where clients connect to, on 127.0.0.1. */
    public port: number,
  ) {}

  /** Starts a proxy on a free loopback port that passes everything. */
  static async start(target: {
    readonly host?: string;
    readonly port: number;
  }): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, 0);
    await proxy.listen();
    return proxy;
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Behaves again: forwards everything at once, and listens again after `refuse`. */
  async pass(): Promise<void> {
    this.mode = 'pass';
    this.latencyMs = 0;
    this.cutAtNextReply = undefined;
    if (!this.server) await this.listen();
  }

  /** Swallows both directions; connections stay open and new ones are accepted. What was swallowed is lost. */
  blackHole(): void {
    this.mode = 'black-hole';
  }

  /** Forwards requests and swallows the replies. */
  dropReplies(): void {
    this.mode = 'drop-replies';
  }

  /** Delays every piece of data by `ms` in each direction. */
  addLatency(ms: number): void {
    this.latencyMs = ms;
  }

  /**
   * Swallows the next reply on any connection, but for its first bytes, and cuts that connection: the server
   * did the work and the client will never know. Resolves once it has happened.
   */
  dropNextReplyThenCut(passBytes = 0): Promise<void> {
    return new Promise((happened) => {
      this.cutAtNextReply = { passBytes, happened };
    });
  }

  /** Cuts all connections with RST; new ones are accepted. */
  resetConnections(): void {
    for (const socket of this.sockets) reset(socket);
  }

  /** Cuts all connections and refuses new ones, as a server that is down does. */
  async refuse(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    if (server) {
      const closed = once(server, 'close');
      server.close();
      this.resetConnections();
      await closed;
    }
  }

  /** Leads to another server from now on, as a moved address does; connections to the old one are cut. */
  retarget(target: { readonly host?: string; readonly port: number }): void {
    this.target = target;
    this.resetConnections();
  }

  /** Ends the proxy and its connections. */
  close(): Promise<void> {
    return this.refuse();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async listen(): Promise<void> {
    const server = createServer((client) => this.join(client));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = portOf(server);
    this.server = server;
  }

  private join(client: Socket): void {
    const upstream = connect(this.target.port, this.target.host ?? '127.0.0.1');
    this.forward(client, upstream, 'request');
    this.forward(upstream, client, 'reply');
  }

  private forward(from: Socket, to: Socket, direction: 'request' | 'reply'): void {
    this.sockets.add(from);
    from.setNoDelay(true);
    let sent = Promise.resolve();
    let underWay = 0;
    from.on('data', (data) => {
      if (this.mode === 'black-hole') return;
      if (direction === 'reply') {
        if (this.mode === 'drop-replies') return;
        if (this.cutAtNextReply) {
          const { passBytes, happened } = this.cutAtNextReply;
          this.cutAtNextReply = undefined;
          if (passBytes > 0) to.end(data.subarray(0, passBytes), () => from.destroy());
          else {
            from.destroy();
            reset(to);
          }
          return happened();
        }
      }
      const send = () => {
        if (to.writable) to.write(data);
      };
      const dueMs = performance.now() + this.latencyMs;
      if (underWay === 0 && this.latencyMs === 0) return send();
      underWay += 1;
      // In order, whatever the latency becomes meanwhile: nothing overtakes on one connection.
      sent = sent.then(async () => {
        const leftMs = dueMs - performance.now();
        if (leftMs > 0) await delay(leftMs);
        send();
        underWay -= 1;
      });
    });
    const end = () => {
      this.sockets.delete(from);
      to.destroy();
    };
    from.on('error', end);
    from.on('close', end);
  }
}

/** With RST where that is possible: of a socket that is connecting or ending, Node would lose the handle, and never exit. */
function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded || socket.readableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
