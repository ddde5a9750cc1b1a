/** Whether a `Prefer` header (RFC 7240) asks for an answer before the work is done. */
export function wantsAsync(prefer: string | undefined): boolean {
  const preferences = prefer?.split(',') ?? [];
  return preferences.some((preference) => {
    const [name = ''] = preference.split(/[=;]/, 1);
    return name.trim().toLowerCase() === 'respond-async';
  });
}
