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

/** An expression of the scheduler: five fields, or six with the seconds first. */
export function CronExpression(): PropertyDecorator {
  const expected = 'must be a cron expression such as "0 0 3 * * *" (second, minute, hour, …)';
  return rule('cronExpression', expected, (value) => {
    return typeof value === 'string' && CronTime.validateCronExpression(value).valid;
  });
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
    'must be a list, with commas, of addresses, networks (10.0.0.0/8), or the words loopback, linklocal and uniquelocal';
  return rule('networks', expected, (value) => {
    return typeof value === 'string' && value.split(',').every((each) => isNetwork(each.trim()));
  });
}

function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return widest > 0 && more.length === 0 && (bits === undefined || isUpTo(bits, widest));
}

function isUpTo(text: string, most: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= most;
}

/** Checks a setting only where it is set. */
export function IfSet(): PropertyDecorator {
  return ValidateIf((_env, value) => value !== undefined);
}
