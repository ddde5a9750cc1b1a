import { describe, expect, it } from '@jest/globals';
import { chromaAddress } from './chroma-address.js';

describe('chromaAddress', () => {
  it('names the API and the default database', () => {
    expect(chromaAddress('http://host:8000/')).toEqual({
      api: 'http://host:8000/api/v2',
      databases: 'http://host:8000/api/v2/tenants/default_tenant/databases',
      database: 'http://host:8000/api/v2/tenants/default_tenant/databases/default_database',
      headers: {},
      shown: 'http://host:8000',
    });
  });

  it('keeps the path of a proxy, and moves credentials from the URL into a header', () => {
    const address = chromaAddress('https://me:p%40ss@host/vectors/');
    expect(address).toMatchObject({
      api: 'https://host/vectors/api/v2',
      headers: { authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}` },
      shown: 'https://host/vectors',
    });
  });
});
