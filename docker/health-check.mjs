/** Exits with 0 if the service in this container answers GET <argument> with success; for images without curl. */
const path = process.argv[2] ?? '/health/ready';
const port = process.env['PORT'] ?? '3000';
try {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    signal: AbortSignal.timeout(4_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
} catch (error) {
  process.stderr.write(`${path}: ${String(error)}\n`);
  process.exitCode = 1;
}
