import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './route-table.js';

describe('the route table', () => {
  const routes = new RouteTable();
  routes.add('/documents', 'GET');
  routes.add('/documents', ['POST', 'GET']);
  routes.add('/documents/:id', 'PUT');
  routes.add('/documents/:id/process', 'POST');

  it.each([
    ['/documents', ['GET', 'POST']],
    ['/documents?page=2', ['GET', 'POST']],
    ['/documents/1001', ['PUT']],
    ['/documents/a%2Fb/process', ['POST']],
    ['/documents/', []],
    ['/documents/1/2', []],
    ['/', []],
  ])('knows the methods at %s', (url, methods) => {
    expect(routes.methodsAt(url)).toEqual(methods);
  });
});
