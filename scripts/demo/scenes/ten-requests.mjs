/** Ten simultaneous requests for one document, over all replicas: one works, nine are told that it is busy. */
export async function tenRequests({ timeline, replicas }) {
  timeline.scene('Ten requests for one document, all at once');
  await replicas[0].upload('1001', 'The text of document 1001, about locks and leases.');
  timeline.event(replicas[0].name, 'stores document 1001');
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const replica = replicas[index % replicas.length];
      const { status, body } = await replica.process('1001');
      timeline.event(replica.name, sentence(status, body));
      return status;
    }),
  );
  const count = (wanted) => answers.filter((status) => status === wanted).length;
  const others = answers.length - count(200) - count(423);
  return [
    {
      what: 'ten requests for one document',
      claimed: '1 × 200, 9 × 423',
      seen: `${count(200)} × 200, ${count(423)} × 423${others > 0 ? `, ${others} others` : ''}`,
      holds: count(200) === 1 && count(423) === 9,
    },
  ];
}

function sentence(status, body) {
  if (status === 200) return `200  processed it under fence ${body.fence}`;
  return `${status}  ${body?.title ?? ''}`;
}
