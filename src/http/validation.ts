import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import { plainWords } from './words.ts';

/** Reads a part of a request by its schema. What is wrong with it is an InvalidRequest that names every field at fault. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = schema.safeParse(data, { error: plainWords });
    return error === undefined ? { value } : { error: fieldsAtFault(error.issues) };
  };

/** `field` is the first of `fields`, for programs that look at one. */
function fieldsAtFault(issues: readonly z.core.$ZodIssue[]): DomainError {
  const faults = issues.flatMap((issue) =>
    pathsOf(issue).map((path) => {
      const field = path.map(String).join('.');
      return { field, sentence: field === '' ? issue.message : `${field}: ${issue.message}` };
    }),
  );
  const fields = faults.map(({ field }) => field);
  const message = faults.map(({ sentence }) => sentence).join('; ');
  return new DomainError('InvalidRequest', message, { field: fields[0] ?? '', fields });
}

/** One issue of an object is about each of the keys that are not known. */
function pathsOf(issue: z.core.$ZodIssue): readonly (readonly PropertyKey[])[] {
  if (issue.code !== 'unrecognized_keys') return [issue.path];
  return issue.keys.map((key) => [...issue.path, key]);
}
