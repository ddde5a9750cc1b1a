/** Knows which methods an address supports: the router itself says only "not found". */
export class RouteTable {
  private readonly routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  /** Notes a route; `path` is in the router's syntax (`/documents/:id`). */
  add(path: string, methods: string | readonly string[]): void {
    const segments = path.split('/').map((segment) => {
      return segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    });
    this.routes.push({ pattern: new RegExp(`^${segments.join('/')}$`), methods: [methods].flat() });
  }

  /** The methods at a URL, sorted; none where there is nothing. */
  methodsAt(url: string): string[] {
    const [path = ''] = url.split('?', 1);
    const methods = this.routes.flatMap(({ pattern, methods: found }) =>
      pattern.test(path) ? found : [],
    );
    return [...new Set(methods)].sort();
  }
}
