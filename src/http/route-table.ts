import { type RouteRules } from './access/route-rules.js';

/** Knows which methods an address supports (the router itself says only "not found"), and by which rules. */
export class RouteTable {
  private readonly routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  private readonly rules = new Map<string, RouteRules>();

  /** Notes a route; `path` is in the router's syntax (`/documents/:id`, `/docs/*`). */
  add(path: string, methods: string | readonly string[], rules?: RouteRules): void {
    const segments = path.split('/').map((segment) => {
      if (segment === '*') return '.*';
      return segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    });
    const names = [methods].flat();
    this.routes.push({ pattern: new RegExp(`^${segments.join('/')}$`), methods: names });
    for (const name of names) if (rules) this.rules.set(`${name} ${path}`, rules);
  }

  /** The rules of a route as it was added. */
  rulesOf(method: string, path: string): RouteRules | undefined {
    return this.rules.get(`${method} ${path}`);
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
