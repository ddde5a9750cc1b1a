import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { lockProblemKinds } from '../../lock/index.js';
import { may } from '../access/principals.js';
import { completeRules, type RouteRules } from '../access/route-rules.js';
import { PROBLEM_KINDS } from '../problem-kinds.js';
import { PROBLEM_MEDIA_TYPE, type ProblemKind } from '../problem.js';
import { type AnyProblemCode, EXTENSIONS } from './answers.js';
import { ProblemView } from './problem.view.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** The rules of a route, by its method in upper case and its path as the router spells it. */
export type RulesOf = (method: string, path: string) => RouteRules | undefined;

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;
const kinds: ReadonlyMap<string, ProblemKind> = new Map<string, ProblemKind>([
  ...lockProblemKinds().map(({ code, ...kind }) => [code, kind] as const),
  ...Object.entries(PROBLEM_KINDS),
]);
const description =
  'Processes documents, each by one worker at a time in all replicas. Every error is a problem (RFC 9457) with a stable `code`; docs/problems.md lists them.';

/**
 * The OpenAPI description of the service, made of its controllers, their classes and decorators; and of
 * the problems that follow from a route's rules. Costs some 20 ms.
 */
export function describeApi(app: INestApplication, rulesOf: RulesOf): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('doclock')
    .setDescription(description)
    .setVersion('1')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      description: 'One of API_TOKENS, or ADMIN_TOKEN',
    })
    .build();
  const document = SwaggerModule.createDocument(app, base, { extraModels: [ProblemView] });
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (!operation) continue;
      const route = path.replaceAll(/\{(\w+)\}/g, ':$1');
      complete(operation, method, rulesOf(method.toUpperCase(), route) ?? completeRules(method));
    }
  }
  return document;
}

function complete(operation: Operation, method: string, rules: RouteRules): void {
  const notes = operation as Operation & Record<string, unknown>;
  const bodies = notes[EXTENSIONS.bodies];
  if (bodies !== undefined) {
    operation.requestBody = { required: true, content: bodies as Record<string, object> };
  }
  const own = (notes[EXTENSIONS.problems] ?? []) as readonly AnyProblemCode[];
  delete notes[EXTENSIONS.bodies];
  delete notes[EXTENSIONS.problems];
  if (rules.access !== 'anyone') operation.security = [{ bearer: [] }];
  const codes = new Set([...own, ...commonProblems(operation, method, rules)]);
  for (const status of new Set([...codes].map((code) => kindOf(code).status))) {
    operation.responses[status] = answerOf(
      [...codes].filter((code) => kindOf(code).status === status),
    );
  }
}

/** What follows from the kind of route. */
function commonProblems(
  { parameters = [], requestBody }: Operation,
  method: string,
  { access, rate }: RouteRules,
): AnyProblemCode[] {
  const isReading = method === 'get';
  const hasKey = parameters.some((each) => 'name' in each && each.name === 'Idempotency-Key');
  return [
    'internal_error',
    'shutting_down',
    ...when(parameters.length > 0 || requestBody !== undefined, 'bad_request', 'validation_failed'),
    ...when(!may({ name: 'anyone', level: 'anyone' }, access), 'unauthorized', 'forbidden'),
    ...when(!isReading, 'forbidden', 'payload_too_large', 'unsupported_media_type'),
    ...when(rate > 0, 'rate_limited'),
    ...when(
      hasKey,
      'idempotency_key_invalid',
      'idempotency_in_progress',
      'idempotency_key_reused',
      'idempotency_unavailable',
      'idempotency_mark_lost',
      'lock_unavailable',
    ),
  ];
}

function when(condition: boolean, ...codes: AnyProblemCode[]): AnyProblemCode[] {
  return condition ? codes : [];
}

function kindOf(code: string): ProblemKind {
  const kind = kinds.get(code);
  if (!kind) throw new Error(`No problem has the code "${code}".`);
  return kind;
}

function answerOf(codes: readonly string[]): Operation['responses'][string] {
  const hasRetryAfter = codes.some(
    (code) =>
      kindOf(code).retryAfterSeconds !== undefined || [409, 423, 429].includes(kindOf(code).status),
  );
  const schema = {
    allOf: [
      { $ref: getSchemaPath(ProblemView) },
      { type: 'object', properties: { code: { type: 'string', enum: [...codes].sort() } } },
    ],
  };
  return {
    description: [...new Set(codes.map((code) => kindOf(code).title))].join('; '),
    ...(hasRetryAfter && {
      headers: {
        'Retry-After': {
          description: 'In whole seconds.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
    }),
    content: { [PROBLEM_MEDIA_TYPE]: { schema } },
  };
}
