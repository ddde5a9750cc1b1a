import { isIP } from 'node:net';
import { ValidateBy, ValidateIf, buildMessage } from 'class-validator';
import { CronTime } from 'cron';

type Check = (value: unknown) => boolean;

function rule(name: string, expected: string, validate: Check): PropertyDecorator {
  return ValidateBy({
    name,
    validator: { validate, defaultMessage: buildMessage(() => expected) },
  });
}

/** A whole number within bounds, both included; `orInfinity` admits the word Infinity too. */
export function WholeNumber(least: number, most: number, orInfinity = false): PropertyDecorator {
  const expected = `must be a whole number from ${least} to ${most}${orInfinity ? ', or Infinity' : ''}`;
  return rule('wholeNumber', expected, (value) => {
    if (orInfinity && value === Infinity) return true;
    return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  });
}

/** One of a few words. */
export function OneOf(...words: readonly string[]): PropertyDecorator {
  const expected = `must be ${words.map((word) => `"${word}"`).join(' or ')}`;
  return rule('oneOf', expected, (value) => words.some((word) => word === value));
}

/** A text of a certain form; `expected` completes the sentence "NAME must …". */
export function Form(pattern: RegExp, expected: string): PropertyDecorator {
  return Text((text) => pattern.test(text), expected);
}

/** A text that `isRight` accepts; `expected` completes the sentence "NAME must …". */
export function Text(isRight: (text: string) => boolean, expected: string): PropertyDecorator {
  return rule('text', expected, (value) => typeof value === 'string' && isRight(value));
}

/** A URL with one of the schemes, such as `redis:`. */
export function UrlOf(...schemes: readonly string[]): PropertyDecorator {
  const expected = `must be a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`;
  return rule('urlOf', expected, (value) => {
    return (
      typeof value === 'string' && URL.canParse(value) && schemes.includes(new URL(value).protocol)
    );
  });
}

/** The URL of an HTTP server, perhaps with a path; one without `credentials` has no place for any. */
export function HttpUrl(of: { readonly credentials: boolean }): PropertyDecorator {
  const credentials = of.credentials
    ? 'user and password, if any, percent-encoded'
    : 'without user and password';
  const expected = `must be a URL that begins with http:// or https://, ${credentials}, without "?" and "#"`;
  return rule('httpUrl', expected, (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return false;
    const { protocol, username, password } = new URL(value);
    return (
      ['http:', 'https:'].includes(protocol) &&
      !/[?#]/.test(value) &&
      (of.credentials ? isDecodable(username + password) : username + password === '')
    );
  });
}

/** The URLs of Redis servers: one, or a list with commas. */
export function RedisUrls(of: { readonly several: boolean }): PropertyDecorator {
  const example = of.several
    ? 'a list such as "redis://a:6379,redis://b:6379,redis://c:6379"'
    : 'a URL such as "redis://user:password@host:6379/0"';
  const expected = `must be ${example}, with rediss:// for TLS, user and password percent-encoded, and no path but the number of a database`;
  return rule('redisUrls', expected, (value) => {
    if (typeof value !== 'string') return false;
    return (of.several ? value.split(',') : [value]).every((each) => isRedisUrl(each.trim()));
  });
}

function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/\S*$/.test(text) || !URL.canParse(text)) return false;
  const { username, password, pathname } = new URL(text);
  return isDecodable(username + password) && /^(?:\/\d{0,9})?$/.test(pathname);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false; // a percent sign that encodes nothing
  }
}

/** An expression of the scheduler that has instants: five fields, or six with the seconds first. */
export function CronExpression(): PropertyDecorator {
  const expected =
    'must be a cron expression such as "0 0 3 * * *" (second, minute, hour, …) whose day exists in one of its months';
  return rule('cronExpression', expected, (value) => {
    return typeof value === 'string' && hasInstants(value);
  });
}

function hasInstants(expression: string): boolean {
  try {
    return new CronTime(expression, 'UTC').sendAt().isValid;
  } catch {
    return false; // no expression, or none that comes within eight years
  }
}

/** A name of the IANA time zone database. */
export function TimeZone(): PropertyDecorator {
  return rule('timeZone', 'must be a time zone such as "UTC" or "Europe/Paris"', (value) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: String(value) }).format();
      return true;
    } catch {
      return false; // that is how Intl says that it knows no such zone
    }
  });
}

/** A list, with commas, of addresses, networks, and Fastify's words for some. */
export function Networks(): PropertyDecorator {
  const expected =
    'must be a list, with commas, of addresses, networks (10.0.0.0/8; everybody is none), or the words loopback, linklocal and uniquelocal';
  return rule('networks', expected, (value) => {
    return typeof value === 'string' && value.split(',').every((each) => isNetwork(each.trim()));
  });
}

function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return widest > 0 && more.length === 0 && (bits === undefined || isWidth(bits, widest));
}

function isWidth(text: string, most: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= most;
}

/** Checks a setting only where it is set. */
export function IfSet(): PropertyDecorator {
  return ValidateIf((_env, value) => value !== undefined);
}
