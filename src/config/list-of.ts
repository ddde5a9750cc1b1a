/** The entries of a list with commas; none where it is not set. */
export function listOf(text: string | undefined): readonly string[] {
  return text?.split(',').map((entry) => entry.trim()) ?? [];
}
