// node read.cjs LIBRARY ROOT [ID...]: reads a storage root with ocfl-fs and prints as JSON the
// SHA-256 of each file of each version of each object, by id, version and name. Objects that are
// named are looked up by the layout of the root; without names all are listed.
const crypto = require('crypto');
const path = require('path');

async function main() {
  const [library, root, ...ids] = process.argv.slice(2);
  const ocfl = require(path.join(library, 'node_modules', '@ocfl', 'ocfl-fs'));
  const storage = ocfl.storage({ root });
  await storage.load();
  const objects = ids.map((id) => storage.object(id));
  if (ids.length === 0) {
    for await (const object of storage) objects.push(object);
  }
  const out = {};
  for (const object of objects) {
    await object.load();
    const inventory = await object.getInventory();
    const versions = {};
    for (const name of Object.keys(inventory.versions)) {
      const state = inventory.versionState(name);
      versions[name] = {};
      for (const [digest, logical] of Object.entries(state)) {
        for (const file of logical) {
          const bytes = await object.readFile(inventory.getContentPath(digest));
          versions[name][file] = crypto.createHash('sha256').update(bytes).digest('hex');
        }
      }
    }
    out[inventory.id] = versions;
  }
  process.stdout.write(JSON.stringify(out));
}

main().catch((error) => { console.error(error); process.exit(1); });
