import type { World } from '../world/world.js';

/** What the locks protect: takes a write unless it has seen a newer fence under that name, and notes both. */
export class Resource {
  private readonly newest = new Map<string, bigint>();

  constructor(private readonly world: World) {}

  write(id: string, name: string, fence: bigint): void {
    const newest = this.newest.get(name) ?? 0n;
    const accepted = fence >= newest;
    if (accepted) this.newest.set(name, fence);
    this.world.note({ kind: 'write', id, name, fence, accepted });
  }
}
