import { describe, expect, it } from '@jest/globals';
import { dotenvMistakes } from './dotenv-lines.js';
import { mistakes } from './resolve-config.spec-support.js';

describe('names that are no settings', () => {
  it.each([
    ['API_TOKEN', 'API_TOKENS'],
    ['LOCK_TTL', 'LOCK_TTL_MS'],
    ['UPLOAD_LIMIT', 'UPLOAD_LIMIT_MB'],
    ['RATE_LIMIT', 'RATE_LIMIT_PER_MINUTE'],
    ['REDIS_URI', 'REDIS_URL'],
    ['REDISURL', 'REDIS_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABSAE_URL', 'DATABASE_URL'],
    ['TRUSTED_PROXY', 'TRUST_PROXY'],
    ['LLM_API_KEY', 'LLM_API_KEYS'],
    ['ADMIN_TOKEN_FILE', 'ADMIN_TOKEN'],
    ['port', 'PORT'],
  ])('are told with the setting that they are near: %s', (name, near) => {
    const told = mistakes({ [name]: 'secret' });
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(`${name} is no setting and would be ignored; did you mean ${near}?`);
    expect(told[0]).not.toContain('secret');
    expect(mistakes({ [name]: '' })).toEqual([]);
  });

  it('are left alone when they are near none, as those that shells and orchestrators set are', () => {
    const foreign =
      'PATH HOME LOG HOSTNAME HOSTTYPE SHELL TERM TZ LANG PORTS HOSTS NODE_ENV LOG_LEVEL NO_PROXY npm_config_port REDIS_HOST ' +
      'REDIS_PORT REDIS_PORT_6379_TCP REDIS_PORT_6379_TCP_ADDR REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_USER ' +
      'REDIS_PASSWORD POSTGRES_PASSWORD POSTGRES_URL POSTGRES_DB CHROMA_PORT CHROMA_SERVICE_HOST DATABASE_HOST DATABASE_NAME ' +
      'DATABASE_URL_UNPOOLED OPENAI_API_KEY OPENAI_BASE_URL ETCD_NAME ZOOKEEPER_PORT DATA COMPOSE_PROJECT_NAME INSTANCE_TYPE';
    expect(mistakes(Object.fromEntries(foreign.split(' ').map((name) => [name, 'x'])))).toEqual([]);
  });
});

describe('numbers', () => {
  it.each([
    ['PORT', '1e4', 'Write 10000.'],
    ['PORT', '0x61d8', 'Write 25048.'],
    ['PORT', '08080', 'Write 8080.'],
    ['PORT', '+80', 'Write 80.'],
    ['LOCK_TTL_MS', '30s', 'Write 30000.'],
    ['LOCK_TTL_MS', '1.5 min', 'Write 90000.'],
    ['LOCK_TTL_MS', '5_000', 'Write 5000.'],
    ['EXTRACT_MAX_CHARS', '20,000,000', 'Write 20000000.'],
  ])('are written in digits: %s=%s is told with the fix', (name, text, fix) => {
    const told = mistakes({ [name]: text });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(new RegExp(`^${name} is ".+"; it must be a whole number .+ ${fix}$`));
  });

  it.each([
    ['PORT', '80x'],
    ['PORT', '30s30'],
    ['UPLOAD_LIMIT_MB', '0.5'],
    ['UPLOAD_LIMIT_MB', 'NaN'],
    ['SHUTDOWN_GRACE_MS', '-1'],
  ])('come without a fix where nobody can tell what was meant: %s=%s', (name, text) => {
    expect(mistakes({ [name]: text })).toEqual([
      expect.stringMatching(
        new RegExp(`^${name} is "${text}"; it must be a whole number [^.]+\\.$`),
      ),
    ]);
  });

  it('may be 0, negative where that is allowed, or the word Infinity', () => {
    expect(mistakes({ PORT: '0', LOCK_MAX_HOLD_MS: 'Infinity', LOCK_WAIT_MS: ' 5 ' })).toEqual([]);
  });
});

describe('the lines of .env', () => {
  it('may be settings, comments, empty, and values of several lines in quotes', () => {
    const text =
      "\ufeffPORT=1\n\n  # a comment\nexport HOST = 127.0.0.1\r\nA=\"one\ntwo words\nthree\"\nB='x'\nC=`it's`\nD=\nE=1 # one\n";
    expect(dotenvMistakes(text)).toEqual([]);
  });

  it('are told by their number when they are none of these, and not repeated', () => {
    const told = dotenvMistakes(
      'PORT=1\nthis is no setting\nAPI_TOKENS secret\n=5\nA="open\nPORT=2\n',
    );
    expect(told).toEqual([
      'Line 2 of .env is no setting. Write NAME=value, or begin a comment with "#".',
      'Line 3 of .env is no setting. Write NAME=value, or begin a comment with "#".',
      'Line 4 of .env is no setting. Write NAME=value, or begin a comment with "#".',
      'Line 5 of .env begins a value with " that nothing ends. End it.',
    ]);
  });
});
