import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

const dockerfile = readFileSync('Dockerfile', 'utf8').replaceAll(/\\\n/g, '');
const instructions = dockerfile
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line))
  .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);
const last = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
const of = (list: typeof instructions, name: string) =>
  list.filter(([each]) => each === name).map(([, value]) => value);

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), {
  merge: true,
  maxAliasCount: 1_000,
}) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
};
const services = Object.entries(compose.services);
/** All of a version's numbers, which PostgreSQL has two of; a tag of fewer is moved with each release. */
const exactTag =
  /^(?:[\w./-]+:v?\d+\.\d+\.\d+|postgres:\d+\.\d+)(?:-[\w.-]+)?$|@sha256:[0-9a-f]{64}$/;

describe('the front', () => {
  it('says itself where a request comes from, whatever the client says', () => {
    const config = readFileSync('docker/haproxy.cfg', 'utf8');
    const lines = config.split('\n').map((line) => line.trim());
    const frontends = config.split(/^(?=\S)/m).filter((part) => part.startsWith('frontend'));
    expect(frontends.length).toBeGreaterThan(0);
    for (const frontend of frontends) {
      expect(frontend).toMatch(
        /http-request del-header X-Forwarded-For\n\s+http-request set-header X-Forwarded-For %\[src\]\n/,
      );
    }
    expect(lines.filter((line) => line.startsWith('option forwardfor'))).toEqual([]); // it appends
  });
});

describe('the image', () => {
  it('is made of images of a named version', () => {
    const bases = of(instructions, 'FROM').map((from) => from.split(' ')[0] ?? '');
    expect(bases.length).toBeGreaterThan(1);
    for (const base of bases) expect(base).toMatch(exactTag);
    expect(new Set(bases).size).toBe(1); // what builds is what runs
  });

  it('runs as somebody who is not root, told by number', () => {
    expect(of(last, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  });

  it('needs no shell to start or to be checked', () => {
    for (const command of [...of(last, 'CMD'), ...of(last, 'HEALTHCHECK')]) {
      const [program] = JSON.parse(command.slice(command.indexOf('['))) as string[];
      expect(program).toBe('node');
    }
    expect(of(last, 'CMD')).toHaveLength(1);
    expect([...of(last, 'ENTRYPOINT'), ...of(last, 'SHELL')]).toEqual([]);
  });

  it('holds no secret, fetches nothing by address, and runs no script of a package', () => {
    expect(of(instructions, 'ADD')).toEqual([]);
    expect(of(instructions, 'ARG')).toEqual([]);
    expect(of(instructions, 'ENV').join(' ')).not.toMatch(/TOKEN|PASSWORD|SECRET|KEY/i);
    const installs = of(instructions, 'RUN').filter((command) => command.includes('npm '));
    for (const command of installs.filter((each) => !each.includes('npm run'))) {
      expect(command).toMatch(/npm ci .*--ignore-scripts/);
    }
    expect(of(last, 'RUN').join(' ')).not.toMatch(/npm|curl|wget|apt/);
  });

  it('gets nothing of the working tree but what it is made of', () => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
    expect(ignored).toContain('*');
    expect(ignored).toContain('**/.env*');
    const copied = of(instructions, 'COPY').filter((copy) => !copy.startsWith('--from'));
    for (const source of copied.flatMap((copy) => copy.split(' ').slice(0, -1))) {
      expect([source, ignored.includes(`!${source}`), existsSync(source)]).toEqual([
        source,
        true,
        true,
      ]);
    }
  });
});

describe('the stack', () => {
  it.each(services)(
    '%s: nothing to write but what is mounted, no capabilities, no new ones',
    (_name, service) => {
      expect(service.read_only).toBe(true);
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toContain('no-new-privileges:true');
      expect(service).not.toHaveProperty('privileged');
      expect(service).not.toHaveProperty('cap_add');
      for (const mode of ['network_mode', 'pid', 'ipc', 'devices'])
        expect(service).not.toHaveProperty(mode);
      for (const volume of service.volumes ?? [])
        expect(volume).not.toMatch(/docker\.sock|^\/|:rw$/);
      if (service.build === undefined) expect(service.image).toMatch(exactTag);
    },
  );

  it.each([
    'redis:7',
    'redis:7.4-alpine',
    'zookeeper:3.8',
    'node:24-bookworm-slim',
    'postgres:16',
    'haproxy',
  ])('would not be accepted with an image such as %s, which is another one tomorrow', (image) =>
    expect(image).not.toMatch(exactTag),
  );

  it('is made of the images that tests and the demo fall back to', () => {
    const images = services.map(([, { image }]) => image);
    for (const file of ['scripts/support/redis-program.mjs', 'test/support/postgres-program.ts']) {
      const [, named] = /_IMAGE = '(.+)'/.exec(readFileSync(file, 'utf8')) ?? [];
      expect(images).toContain(named);
    }
  });

  it('publishes the front only, to this machine only', () => {
    const published = services.flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([['front', expect.stringMatching(/^127\.0\.0\.1:/)]]);
  });

  it('lets nobody but the front out of its network', () => {
    expect(compose.networks['inside']).toEqual({ internal: true });
    for (const [name, { networks }] of services) {
      expect([name, networks]).toEqual([name, name === 'front' ? ['edge', 'inside'] : ['inside']]);
    }
  });

  it('runs its databases as their own users, and the service with the image’s', () => {
    expect(compose.services['redis']?.user).toBe('redis');
    expect(compose.services['postgres']?.user).toBe('postgres');
    expect(compose.services['app']?.user).toBeUndefined();
  });

  it('is open on purpose, and takes tokens as soon as there are any', () => {
    const { environment = {} } = compose.services['app'] ?? {};
    expect(environment['API_OPEN']).toBe('${API_OPEN-true}');
    expect(environment).toMatchObject({ API_TOKENS: null, ADMIN_TOKEN: null });
  });

  it('checks the health of the service without a shell', () => {
    expect(compose.services['app']?.healthcheck?.test.slice(0, 2)).toEqual(['CMD', 'node']);
  });
});

describe('the security page', () => {
  it('names what shows it, and that exists', () => {
    const page = readFileSync('SECURITY.md', 'utf8');
    const named = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });
});
