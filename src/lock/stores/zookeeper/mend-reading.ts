import type { Client } from 'node-zookeeper-client';

/** What is needed of the library's inside. */
interface ConnectionManager {
  socket?: { destroy(): void };
  /** The beginning of a message whose end has not come yet. */
  pendingBuffer: Buffer | null;
  onSocketData(bytes: Buffer): void;
}

/**
 * Mends two faults of the library. It takes what a new connection says for the rest of a message that the
 * end of the last one cut off. And what it cannot read it throws out of the socket, which ends the process:
 * here the connection ends instead, and another server is tried.
 */
export function mendReading(client: Client): void {
  const { connectionManager: manager } = client as Client & {
    connectionManager: ConnectionManager;
  };
  const read = manager.onSocketData.bind(manager);
  let connection: ConnectionManager['socket'];
  manager.onSocketData = (bytes) => {
    if (connection !== manager.socket) manager.pendingBuffer = null;
    connection = manager.socket;
    try {
      read(bytes);
    } catch (error) {
      if ((error as Error).name !== 'RangeError') throw error; // not the library's
      connection?.destroy();
    }
  };
}
