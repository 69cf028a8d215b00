// Copies a filter with SCANDUMP and LOADCHUNK, as an adopter's program does: node copy_filter.js
// URL bf|cf FROM TO. Prints how many chunks there were. Stops after 1000, for a cursor that a
// JavaScript number cannot hold never comes to the end.
const { createClient, RESP_TYPES } = require('redis');

async function main([url, family, from, to]) {
  const client = createClient({ url });
  await client.connect();
  const commands = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })[family];
  const most = 1000;
  let iterator = 0;
  let chunks = 0;
  for (; chunks < most; ++chunks) {
    const dumped = await commands.scanDump(from, iterator);
    iterator = dumped.iterator;
    if (iterator === 0) break;
    if (!Number.isSafeInteger(iterator)) throw new Error(`the iterator ${iterator} is not exact`);
    await commands.loadChunk(to, iterator, dumped.chunk);
  }
  if (chunks === most) throw new Error(`no end after ${most} chunks`);
  console.log(chunks);
  await client.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
