import { once } from 'node:events';
import type { Socket } from 'node:net';
import zookeeper from 'node-zookeeper-client';
import type { ZookeeperLockStore } from '../../src/lock/index.js';
import { eventually } from './eventually.js';

type Cuttable = zookeeper.Client & { readonly connectionManager: { readonly socket: Socket } };

/** A client, connected; null where the session that it was to continue has ended. */
function join(servers: string, session: object = {}): Promise<zookeeper.Client | null> {
  const client = zookeeper.createClient(servers, { sessionTimeout: 10_000, ...session });
  return new Promise((resolve) => {
    client.once('connected', () => resolve(client));
    client.once('expired', () => {
      (client as Cuttable).connectionManager.socket.destroy();
      resolve(null);
    });
    client.connect();
  });
}

async function leave(client: zookeeper.Client | null): Promise<void> {
  if (!client) return;
  const gone = once(client, 'disconnected');
  client.close();
  await gone;
}

/** Ends a store's session as its expiry does: the servers delete its nodes, and its client learns it when it comes back. */
export async function endSession(store: ZookeeperLockStore, servers: string): Promise<void> {
  const { session } = store as unknown as {
    session: { client: Cuttable };
  };
  const { client } = session;
  const [sessionId, sessionPassword] = [client.getSessionId(), client.getSessionPassword()];
  await eventually(async () => {
    // Whoever closes a session ends it, for all that share it; the two may push each other out first.
    await leave(await join(servers, { sessionId, sessionPassword }));
    if (session.client !== client) return true;
    client.connectionManager.socket.destroy();
    return false;
  });
}

/** The names of the nodes of one lock; null where it has none of its own. */
export async function lockNodes(servers: string, lock: string): Promise<string[] | null> {
  const client = await join(servers);
  if (!client) throw new Error('a new session has ended at once');
  const children = await new Promise<string[] | null>((resolve, reject) => {
    client.getChildren(`/locks/${lock}`, (error, names) => {
      if (!error) resolve(names);
      else if ((error as zookeeper.Exception).code === zookeeper.Exception.NO_NODE) resolve(null);
      else reject(error);
    });
  });
  await leave(client);
  return children;
}

/** A node of the ensemble. */
export interface SeenNode {
  readonly path: string;
  /** It goes with the session of whoever made it. */
  readonly isEphemeral: boolean;
  readonly children: number;
}

/** A node and everything below it; a node that goes meanwhile is left out. */
export async function allNodes(servers: string, root: string): Promise<SeenNode[]> {
  const client = await join(servers);
  if (!client) throw new Error('a new session has ended at once');
  try {
    return await nodesBelow(client, root);
  } finally {
    await leave(client);
  }
}

async function nodesBelow(client: zookeeper.Client, path: string): Promise<SeenNode[]> {
  const found = await new Promise<{ names: string[]; stat: zookeeper.Stat } | null>(
    (resolve, reject) => {
      client.getChildren(path, (error, names, stat) => {
        if (!error) resolve({ names, stat });
        else if ((error as zookeeper.Exception).code === zookeeper.Exception.NO_NODE) resolve(null);
        else reject(error);
      });
    },
  );
  if (!found) return [];
  const { names, stat } = found;
  const isEphemeral = stat.ephemeralOwner.some((byte) => byte !== 0);
  const below = await Promise.all(names.map((name) => nodesBelow(client, `${path}/${name}`)));
  return [{ path, isEphemeral, children: names.length }, ...below.flat()];
}
