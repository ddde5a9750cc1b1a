/** The import direction of the rooms (docs/architecture.md), as rules. */
const only = (name, from, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: '\\.spec(?:-support)?\\.ts$' },
  to: { pathNot: allowed },
});
const node =
  '^node:|^(?:assert|async_hooks|buffer|crypto|events|fs|os|path|perf_hooks|stream|url|util|worker_threads)(?:/|$)';

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'src-never-imports-test',
      severity: 'error',
      from: { path: '^src' },
      to: { path: '^test' },
    },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '(?:^|/)dist/' }, // built later than this check runs
    },
    only(
      'lock-core-is-pure',
      '^src/lock/core/',
      [node, '^src/lock/core/'],
      'the engine knows node only',
    ),
    only(
      'lock-stores',
      '^src/lock/stores/',
      [
        node,
        '^src/lock/(?:core|stores)/',
        'node_modules/(?:ioredis|@grpc|(?:@types/)?(?:node-zookeeper-client|pg))/',
      ],
      'a store knows the engine and its client library',
    ),
    only(
      'lock-ticks',
      '^src/lock/ticks/',
      [node, '^src/lock/(?:core|ticks)/', '/redis/lua-script\\.ts$', 'node_modules/ioredis/'],
      'ticks know the engine, and share the one loader of scripts',
    ),
    {
      name: 'schedule-behind-its-door',
      severity: 'error',
      comment: 'the rest of the package works without @nestjs/schedule',
      from: { path: '^src/lock/(?!schedule/)' },
      to: { path: ['^src/lock/schedule/', 'node_modules/(?:@nestjs/schedule|cron)/'] },
    },
    only(
      'lock-testing',
      '^src/lock/testing/',
      [
        node,
        '^src/lock/(?:core|testing)/',
        '^src/lock/ticks/tick-marks\\.ts$',
        'node_modules/@jest/',
      ],
      'the suites know the engine and the ports',
    ),
    {
      name: 'stores-behind-the-factory',
      severity: 'error',
      comment: 'only the factory (and the public door, for types and options) knows a store',
      from: {
        path: '^src/lock/nest/',
        pathNot: ['store\\.factory\\.ts$', '\\.spec(?:-support)?\\.ts$'],
      },
      to: { path: '^src/lock/stores/' },
    },
    {
      name: 'core-knows-no-nest',
      severity: 'error',
      comment: 'doclock/core works where Nest is not installed',
      from: { path: '^src/lock/(?:core-entry|store-kit)\\.ts$' },
      to: { path: ['^src/lock/(?:nest|schedule)/', 'node_modules/@nestjs/'] },
    },
    {
      name: 'lock-is-self-contained',
      severity: 'error',
      comment: 'other teams take src/lock out',
      from: { path: '^src/lock/' },
      to: { path: '^src/', pathNot: '^src/lock/' },
    },
    {
      name: 'lock-has-doors',
      severity: 'error',
      comment:
        'for cron jobs, which need @nestjs/schedule, and for builders of stores, there are doors of their own',
      from: { path: '^src/(?!lock/)' },
      to: { path: '^src/lock/', pathNot: '^src/lock/(?:(?:schedule/)?index|store-kit)\\.ts$' },
    },
    {
      name: 'features-by-their-index',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/(?:documents|conversations|archive|administration|idempotency|key-pool|llm|upkeep|dashboard|health|metrics|http)/',
        pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'ground-floor',
      severity: 'error',
      comment: 'config, redis and database serve the features and know none of them',
      from: { path: '^src/(config|redis|database)/' },
      to: { path: '^src/(?!config/|redis/|database/|lock/index\\.ts$)' },
    },
    {
      name: 'only-the-app-joins-rooms',
      severity: 'error',
      from: {
        path: '^src/(?!app\\.module\\.ts|main\\.ts|health/|dashboard/|metrics/)([^/]+)',
        pathNot: '\\.spec(?:-support)?\\.ts$',
      },
      to: { path: '^src/(?:health|dashboard|metrics|archive|administration)/', pathNot: '^src/$1' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'node_modules/.*/node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js'],
    },
  },
};
