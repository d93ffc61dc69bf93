package operation

import (
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// rights says, apart from the table of operations, what each of them needs: readers see, depositors
// deposit and see their own, operators act where they have collections, admins do everything and
// administer people. The test of every route and role compares the service with the table; this
// one compares the table with what was meant.
var rights = []struct {
	need  access.Need
	on    On
	names string
}{
	{"", OnSelf, "session.begin session.end self.show upload.show query.ls query.show query.report report.ls drop.ls"},
	{"", OnSeen, "batch.ls job.ls job.failures file.ls object.ls collection.ls dataset.ls discover.ls slot.ls profile.ls event.follow query.submit query.answer"},
	{access.See, OnThing, "batch.show batch.report batch.retries batch.callbacks job.show job.stored file.show"},
	{access.See, OnObject, "object.show object.files object.manifest object.get"},
	{access.See, OnNamed, "report.show"},
	{access.See, OnCollection, "collection.show dataset.show discover.show slot.show"},
	{access.See, OnInstallation, "status.show timeouts.show intake.show poison.ls poison.show queue.ls queue.show queue.board " +
		"processor.ls processor.show compute.ls compute.show compute.workers compute.output"},
	{access.Deposit, OnCollection, "submission.create upload.create upload.synchronous"},
	// What looks into working files, or asks servers of others, is for operators.
	{access.Act, OnThing, "batch.release batch.delete batch.cleanup batch.send-report batch.update-report " +
		"job.look job.hold job.release job.requeue job.priority job.fail job.delete " +
		"file.requeue file.skip file.abandon file.redownload file.reprocess queue.free"},
	{access.Act, OnCollection, "collection.hold collection.release dataset.add dataset.set profile.show " +
		"discover.look discover.add discover.pause discover.resume discover.run discover.rm slot.add slot.open slot.close"},
	{access.Act, OnObject, "object.withdraw object.approve object.reject"},
	{access.Act, OnSome, "bulk.begin bulk.ls bulk.show bulk.items bulk.cancel object.withdrawals"},
	{access.Act, OnInstallation, "timeouts.set poison.retry drop.start drop.stop drop.retry drop.rm query.fail query.send-report " +
		"queue.allow queue.prohibit queue.defaults queue.limit queue.unlimit queue.park queue.unpark queue.pause queue.resume queue.suspend " +
		"processor.add processor.set processor.start processor.stop processor.rm " +
		"compute.submit compute.retry compute.claim compute.input compute.put compute.heartbeat compute.complete compute.fail " +
		"task.claim task.put task.heartbeat task.complete task.fail"},
	{access.Administer, OnInstallation, "user.ls user.show user.add user.set user.password user.enable user.disable user.grant user.withdraw " +
		"key.ls key.add key.revoke audit.ls audit.report profile.set profile.check profile.rm intake.open intake.close"},
}

// TestNeedsOfOperations: each operation needs what it was meant to.
func TestNeedsOfOperations(t *testing.T) {
	t.Parallel()
	type right struct {
		need access.Need
		on   On
	}
	meant := map[string]right{}
	for _, r := range rights {
		for _, name := range strings.Fields(r.names) {
			if _, twice := meant[name]; twice {
				t.Errorf("%s is there twice", name)
			}
			meant[name] = right{r.need, r.on}
		}
	}
	for _, op := range Table() {
		want, known := meant[op.Name]
		if !known {
			t.Errorf("%s: say what it is meant to need", op.Name)
		} else if got := (right{op.Need, op.On}); got != want {
			t.Errorf("%s needs %q on %s, and was meant to need %q on %s", op.Name, got.need, got.on, want.need, want.on)
		}
		if changes := op.Write || op.Method != http.MethodGet; changes && op.Need == access.See {
			t.Errorf("%s changes something, and those who only see may do it", op.Name)
		}
		delete(meant, op.Name)
	}
	for name := range meant {
		t.Errorf("there is no operation %s", name)
	}
}
