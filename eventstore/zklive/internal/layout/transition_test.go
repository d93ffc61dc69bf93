package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// TestJobRows holds the operations of every row of the job table against what the
// documentation of the workflow says of it, written by hand. A daemon's row is made
// under a claim, an operator's without.
func TestJobRows(t *testing.T) {
	t.Parallel()
	fail := domain.FailJob{Reason: domain.Reason{Class: domain.ClassSystem, Code: "test"}}
	working, deleted := domain.Facts{Batch: domain.BatchProcessing}, domain.Facts{Batch: domain.BatchDeleted}
	const unlocked = "lock /jobs/J/lock\n delete /jobs/J/lock\n"
	const removed = `
		delete /jobs/J/claims
		delete /jobs/J/space_needed
		delete /jobs/J/priority
		delete /jobs/J/status @7
		delete /jobs/J/metadata
		delete /jobs/J/identifiers
		delete /jobs/J/configuration
		delete /jobs/J`
	moved := func(from, to string) string {
		return "check /workers/w\n delete /jobs/states/" + from + "/05-J\n set /jobs/J/status @7\n create /jobs/states/" + to + "/05-J\n"
	}
	failed := func(from string) string {
		return `check /workers/w
			delete /batches/B/states/batch-processing/J
			delete /jobs/states/` + from + `/05-J
			set /jobs/J/status @7
			create /jobs/states/failed/05-J
			create /batches/B/states/batch-failed/J`
	}
	requeued := func(to string) string {
		return "check /batches/B/status @3\n" + unlocked + `
			delete /batches/B/states/batch-failed/J
			delete /jobs/states/failed/05-J
			set /jobs/J/status @7
			create /jobs/states/` + to + `/05-J
			create /batches/B/states/batch-processing/J`
	}
	const ends = "\n delete /jobs/J/lock"
	covered := map[string]bool{}
	for _, c := range []struct {
		row        string
		from, last domain.JobState
		cmd        domain.JobCommand
		facts      domain.Facts
		daemon     bool
		want       string
	}{
		{"J1", "", "", domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: bid}}, working, false, `
			create /jobs/J
			create /jobs/J/configuration
			create /jobs/J/identifiers
			create /jobs/J/metadata
			create /jobs/J/status
			create /jobs/J/priority
			create /jobs/J/space_needed
			create /jobs/J/claims
			create /jobs/states/pending/05-J
			create /batches/B/states/batch-processing/J`},
		{"J2", "pending", "", domain.HoldJob{}, working, true, moved("pending", "held") + ends},
		{"J3", "held", "", domain.ReleaseJob{}, working, false, "check /locks @4\n" + unlocked + `
			delete /jobs/states/held/05-J
			set /jobs/J/status @7
			create /jobs/states/pending/05-J`},
		{"J4", "pending", "", domain.AcceptJob{}, working, true, `
			check /workers/w
			check /locks @4
			delete /jobs/states/pending/05-J
			set /jobs/J/status @7
			create /jobs/states/estimating/05-J` + ends},
		{"J5", "pending", "", fail, working, true, failed("pending") + ends},
		{"J6", "estimating", "", domain.EstimateJob{Priority: 10, Bytes: 99}, working, true, `
			check /workers/w
			delete /jobs/states/estimating/05-J
			set /jobs/J/status @7
			set /jobs/J/priority
			set /jobs/J/space_needed
			create /jobs/states/provisioning/10-J` + ends},
		{"J7", "provisioning", "estimating", domain.ProvisionJob{}, working, true, moved("provisioning", "downloading") + "create /space/J" + ends},
		{"J8", "downloading", "provisioning", domain.DownloadJob{Priority: 5, Bytes: 99}, working, true, `
			check /workers/w
			delete /jobs/states/downloading/05-J
			set /jobs/J/status @7
			set /jobs/J/space_needed
			create /jobs/states/processing/05-J
			delete /space/J` + ends},
		{"J9", "downloading", "provisioning", fail, working, true, failed("downloading") + "\n delete /space/J" + ends},
		{"J10", "processing", "downloading", domain.ProcessJob{}, working, true, moved("processing", "recording") + ends},
		{"J11", "processing", "downloading", fail, working, true, failed("processing") + ends},
		{"J12", "recording", "processing", domain.RecordJob{}, working, true, moved("recording", "notify") + ends},
		{"J13", "recording", "processing", fail, working, true, failed("recording") + ends},
		{"J14", "notify", "recording", domain.CompleteJob{Callback: "none"}, working, true, `
			check /workers/w
			delete /batches/B/states/batch-processing/J
			delete /jobs/states/notify/05-J
			set /jobs/J/status @7
			create /jobs/states/completed/05-J
			create /batches/B/states/batch-completed/J` + ends},
		{"J15", "notify", "recording", fail, working, true, failed("notify") + ends},
		{"J16", "failed", "provisioning", domain.RequeueJob{}, working, false, requeued("downloading") + "\n create /space/J"},
		{"J17", "failed", "downloading", domain.RequeueJob{}, working, false, requeued("processing")},
		{"J18", "failed", "processing", domain.RequeueJob{}, working, false, requeued("recording")},
		{"J19", "failed", "recording", domain.RequeueJob{}, working, false, requeued("notify")},
		{"J20", "completed", "notify", domain.CleanJob{}, working, true, `
			check /workers/w
			delete /jobs/states/completed/05-J
			delete /jobs/J/claims
			delete /jobs/J/space_needed
			delete /jobs/J/priority
			delete /jobs/J/metadata
			delete /jobs/J/identifiers
			delete /jobs/J/configuration
			set /jobs/J/status @7` + ends},
		{"J21", "failed", "", domain.DeleteJob{}, working, false, "check /batches/B/status @3\n" + unlocked + `
			delete /batches/B/states/batch-failed/J
			delete /jobs/states/failed/05-J` + removed},
		{"J22", "held", "", domain.DeleteJob{}, working, false, "check /batches/B/status @3\n" + unlocked + `
			delete /batches/B/states/batch-processing/J
			delete /jobs/states/held/05-J` + removed},
		{"J23", "downloading", "", domain.DeleteJobWithBatch{}, deleted, false, unlocked + `
			delete /batches/B/states/batch-processing/J
			delete /jobs/states/downloading/05-J` + removed + "\n delete /space/J"},
		{"J24", "downloading", "provisioning", domain.CancelJob{}, working, false,
			strings.Replace(failed("downloading"), "check /workers/w", "", 1) + "\n delete /space/J"},
		{"J25", "failed", "estimating", domain.RequeueJob{}, working, false, requeued("pending")},
		{"", "processing", "downloading", domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/1"}}, working, true, `
			check /workers/w
			set /jobs/J/identifiers
			set /jobs/J/status @7` + ends},
		{"", "recording", "processing", domain.ReprioritiseJob{Priority: 9}, working, false, unlocked + `
			delete /jobs/states/recording/05-J
			set /jobs/J/status @7
			set /jobs/J/priority
			create /jobs/states/recording/09-J`},
	} {
		from := jobIn(c.from, c.last)
		if c.row == "J1" {
			from.ID = ""
		}
		change, row := jobChange(t, from, c.cmd, c.facts)
		if change.Job.To.ID = jid; row != c.row {
			t.Fatalf("row %s, want %s", row, c.row)
		}
		if covered[row] = true; c.daemon {
			change = claimed(change)
		}
		if d := cmp.Diff(lines(c.want), short(root.Changes([]eventstore.Change{change}, layout.Inputs{Compact: true}))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.row, d)
		}
	}
	for _, row := range domain.JobTransitions {
		if !covered[row.Row] {
			t.Errorf("row %s is not in the table", row.Row)
		}
	}
}

// TestBatchRows is the same for the batch table.
func TestBatchRows(t *testing.T) {
	t.Parallel()
	listed := &domain.Listing{Rows: 1, FirstJID: jid}
	in := func(state domain.BatchState, l *domain.Listing) domain.Batch {
		b := domain.Batch{ID: bid, State: state, Listing: l, Version: 3}
		if l != nil {
			b.NextRow = 1
		}
		return b
	}
	held := domain.Facts{CollectionHold: &domain.Hold{}}
	status := "set /batches/B/status @7"
	ends := "\n delete /batches/B/lock"
	const states = `
		create /batches/B/states
		create /batches/B/states/batch-processing
		create /batches/B/states/batch-failed
		create /batches/B/states/batch-completed`
	empty := func(sub string) string {
		return "delete /batches/B/states/batch-" + sub + "\n create /batches/B/states/batch-" + sub + "\n"
	}
	const unlocked = "lock /batches/B/lock\n delete /batches/B/lock\n"
	const idle = `
		lock /jobs/J/lock
		delete /jobs/J/lock
		delete /batches/B/states/batch-processing/J
		delete /batches/B/states/batch-processing
		create /batches/B/states/batch-processing
		create /batches/B/states/batch-processing/J
		`
	covered := map[string]bool{}
	for _, c := range []struct {
		row    string
		from   domain.Batch
		cmd    domain.BatchCommand
		facts  domain.Facts
		daemon bool
		want   string
	}{
		{"B1", domain.Batch{}, domain.SubmitBatch{}, domain.Facts{}, false, `
			create /batches/B
			create /batches/B/submission
			create /batches/B/status`},
		{"B2", in("pending", nil), domain.HoldBatch{}, held, true, "check /workers/w\n check /locks @4\n" + status + ends},
		{"", in("pending", nil), domain.ListBatch{Listing: *listed}, domain.Facts{}, true, "check /workers/w\n check /locks @4\n" + status + "\n create /batches/B/progress" + ends},
		{"B3", in("pending", listed), domain.StartBatch{}, domain.Facts{}, true, "check /workers/w\n" + status + ends},
		{"B3", in("pending", nil), domain.StartBatch{Problem: &domain.Reason{}}, domain.Facts{}, true, "check /workers/w\n" + status + states + ends},
		{"B4", in("held", nil), domain.ReleaseBatch{}, domain.Facts{}, false, "check /locks @4\n" + status},
		{"B5", in("processing", listed), domain.BeginReport{}, domain.Facts{}, false, empty("processing") + status},
		{"B6", in("reporting", listed), domain.FinishReport{}, domain.Facts{}, true, "check /workers/w\n" + empty("processing") + empty("failed") + status + "\n create /batches/B/status-report" + ends},
		{"B7", in("reporting", nil), domain.FinishReport{}, domain.Facts{}, true, "check /workers/w\n" + status + "\n create /batches/B/status-report" + ends},
		{"B8", in("failed", listed), domain.RequestUpdate{}, domain.Facts{}, false, empty("processing") + status},
		{"B9", in("update-reporting", listed), domain.FinishReport{}, domain.Facts{Completed: 1}, true, "check /workers/w\n" + empty("processing") + empty("failed") + status + "\n create /batches/B/status-report" + ends},
		{"B10", in("update-reporting", listed), domain.FinishReport{}, domain.Facts{Failed: 1}, true, "check /workers/w\n" + status + "\n create /batches/B/status-report" + ends},
		{"B11", in("failed", listed), domain.DeleteBatch{}, domain.Facts{}, false, unlocked + empty("processing") + status},
		{"B11", in("failed", listed), domain.DeleteBatch{}, domain.Facts{Open: []domain.JobID{jid}}, false, unlocked + idle + status},
		{"B12", in("held", nil), domain.DeleteBatch{}, domain.Facts{}, false, unlocked + status},
		{"B13", in("completed", listed), domain.CleanBatch{}, domain.Facts{}, false, unlocked + status},
		{"B14", in("failed", listed), domain.CleanBatch{}, domain.Facts{}, false, unlocked + empty("processing") + status},
	} {
		change, row := batchChange(t, c.from, c.cmd, c.facts)
		if change.Batch.To.ID = bid; row != c.row {
			t.Fatalf("row %s, want %s", row, c.row)
		}
		if covered[row] = true; c.daemon {
			change = claimed(change)
		}
		if d := cmp.Diff(lines(c.want), short(root.Changes([]eventstore.Change{change}, layout.Inputs{}))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.row, d)
		}
	}
	for _, row := range domain.BatchTransitions {
		if !covered[row.Row] {
			t.Errorf("row %s is not in the table", row.Row)
		}
	}
}

// TestOtherOperations holds all other operations against lists written by hand, and
// what the refusal of each stands for.
func TestOtherOperations(t *testing.T) {
	t.Parallel()
	held := domain.Setting{Kind: domain.HoldCollection, Name: "maps", Version: 1, SettingValue: domain.SettingValue{Hold: &domain.Hold{By: "ann"}}}
	released := domain.Setting{Kind: domain.HoldCollection, Name: "maps", Version: 2}
	timed := func(version, seconds int64) domain.Setting {
		return domain.Setting{Kind: domain.SettingTimeouts, Name: domain.TimeoutsFiles, Version: version, SettingValue: domain.SettingValue{Timeouts: &domain.Timeouts{DownloadSeconds: seconds}}}
	}
	ofQueue := func(kind domain.SettingKind, name string, version int64) domain.Setting {
		v := map[domain.SettingKind]domain.SettingValue{
			domain.SettingDepositQueue: {DepositQueue: &domain.DepositQueue{Suspended: true}},
			domain.SettingUserLimit:    {UserLimit: &domain.UserLimit{User: "a.b"}},
			domain.SettingProcessor:    {Processor: &domain.Processor{Queue: "metadata"}}}[kind]
		return domain.Setting{Kind: kind, Name: name, Version: version, SettingValue: v}
	}
	profiled := func(version int64, digits string) domain.Setting {
		sum := strings.Repeat(digits, 32)
		return domain.Setting{Kind: domain.SettingProfile, Name: "maps", Version: version, SettingValue: domain.SettingValue{Profile: &domain.Profile{Version: sum[:12], SHA256: sum}}}
	}
	setting := func(from, to domain.Setting) eventstore.Change {
		return eventstore.Change{Setting: &eventstore.Transition[domain.Setting]{From: from, To: to}, Token: token}
	}
	claim := &eventstore.Claim{Worker: "w", Aggregate: jid.Aggregate(), Attempts: 2}
	loaded := eventstore.Loaded[domain.Job]{State: jobIn("processing", "downloading"), Token: token}
	accept, _ := jobChange(t, jobIn("pending", ""), domain.AcceptJob{}, domain.Facts{Batch: domain.BatchProcessing})
	accept.Require = domain.Require{}
	term := eventstore.Token(9)
	promises, _ := jobChange(t, jobIn("provisioning", ""), domain.ProvisionJob{}, domain.Facts{})
	promises.SpaceTerm = &term
	creates, _ := jobChange(t, domain.Job{}, domain.CreateJob{Configuration: domain.Configuration{BatchID: bid}}, domain.Facts{})
	creates.Job.To.ID = jid
	rows := func(next int) layout.Inputs {
		return layout.Inputs{NextRows: &layout.NextRows{Batch: bid, Now: layout.Progress{NextRow: next}, Version: 6, Count: 1}}
	}
	one := func(c eventstore.Change, f layout.Inputs) layout.Ops { return root.Changes([]eventstore.Change{c}, f) }
	repair, _ := jobChange(t, jobIn("failed", ""), domain.RepairJob{}, domain.Facts{})
	repair.Observed = &eventstore.Observed{Lock: &eventstore.ObservedLock{Node: "/jobs/" + string(jid) + "/lock"}, Nodes: root.Expected(root.JobNodes(jobIn("failed", ""), true))}
	delete(repair.Observed.Nodes, "/jobs/"+string(jid)+"/priority")
	repair.Observed.Nodes["/jobs/states/held/05-"+string(jid)] = ""

	for name, c := range map[string]struct {
		ops      layout.Ops
		want     string
		refusals []error
	}{
		"first hold": {one(setting(domain.Setting{}, held), layout.Inputs{}), `
			create /config/versions/collection:maps
			create /locks/collections/maps
			set /locks`, nil},
		"hold again": {one(setting(released, domain.Setting{Kind: held.Kind, Name: "maps", Version: 3, SettingValue: held.SettingValue}), layout.Inputs{}), `
			set /config/versions/collection:maps @7
			create /locks/collections/maps
			set /locks`, nil},
		"release a hold": {one(setting(held, released), layout.Inputs{}), `
			delete /locks/collections/maps
			set /config/versions/collection:maps @7
			set /locks`, nil},
		"first timeouts": {one(setting(domain.Setting{}, timed(1, 60)), layout.Inputs{}), `
			create /config/versions/timeouts:files
			create /config/timeouts`, nil},
		"other timeouts": {one(setting(timed(1, 60), timed(2, 90)), layout.Inputs{}), `
			set /config/versions/timeouts:files @7
			set /config/timeouts`, nil},
		"suspension": {one(setting(domain.Setting{}, ofQueue(domain.SettingDepositQueue, "query", 1)), layout.Inputs{}), `
			create /config/versions/deposit_queue:query
			create /queues/query/config/defaults
			set /queues/query/config`, nil},
		"limits of a user": {one(setting(domain.Setting{}, ofQueue(domain.SettingUserLimit, "query-a%2Eb", 1)), layout.Inputs{}), `
			create /config/versions/user_limit:query-a%2Eb
			create /queues/query/config/users/a%2Eb
			set /queues/query/config`, nil},
		"processor": {one(setting(domain.Setting{}, ofQueue(domain.SettingProcessor, "metadata-films", 1)), layout.Inputs{}), `
			create /config/versions/processor:metadata-films
			create /queues/metadata/config/processors/films
			set /queues/metadata/config`, nil},
		"processor removed": {one(setting(ofQueue(domain.SettingProcessor, "metadata-films", 1), domain.Setting{Kind: domain.SettingProcessor, Name: "metadata-films", Version: 2}), layout.Inputs{}), `
			delete /queues/metadata/config/processors/films
			set /config/versions/processor:metadata-films @7
			set /queues/metadata/config`, nil},
		"first content of a profile": {one(setting(domain.Setting{}, profiled(1, "0a")), layout.Inputs{}), `
			create /config/versions/profile:maps
			create /config/profiles/maps
			set /config/profiles`, nil},
		"other content of a profile": {one(setting(profiled(1, "0a"), profiled(2, "0b")), layout.Inputs{}), `
			set /config/versions/profile:maps @7
			set /config/profiles/maps
			set /config/profiles`, nil},
		"a profile of its file again": {one(setting(profiled(2, "0b"), domain.Setting{Kind: domain.SettingProfile, Name: "maps", Version: 3}), layout.Inputs{}), `
			delete /config/profiles/maps
			set /config/versions/profile:maps @7
			set /config/profiles`, nil},
		"audit": {one(setting(domain.Setting{}, domain.Setting{Kind: domain.SettingAudit, Name: "a", Version: 1}), layout.Inputs{}), `
			create /config/versions/audit:a`, nil},
		"claim of a job": {root.ClaimJob(claim, loaded, batchToken, holds), `
			check /workers/w
			check /jobs/J/status @7
			check /locks @4
			lock /jobs/J/lock
			check /batches/B/status @3
			set /jobs/J/claims`, []error{eventstore.ErrFenced, eventstore.ErrConflict, layout.ErrHolds, eventstore.ErrLocked, layout.ErrBatch, eventstore.ErrConflict}},
		"claim of a batch": {root.Claim(&eventstore.Claim{Worker: "w", Aggregate: bid.Aggregate()}, token, holds), `
			check /workers/w
			check /batches/B/status @7
			check /locks @4
			lock /batches/B/lock`, []error{eventstore.ErrFenced, eventstore.ErrConflict, layout.ErrHolds, eventstore.ErrLocked}},
		"confirmation": {root.Confirm(claim), "check /workers/w\n check /jobs/J/lock", []error{eventstore.ErrFenced, eventstore.ErrFenced}},
		"release": {root.Release(claim), `
			check /workers/w
			delete /jobs/J/lock
			set /jobs/J/claims`, nil},
		"release of a batch": {root.Release(&eventstore.Claim{Worker: "w", Aggregate: bid.Aggregate()}), `
			check /workers/w
			delete /batches/B/lock`, nil},
		"hand-over": {one(claimed(accept), layout.Inputs{HandOver: &layout.HandOver{Claim: claim, Holds: holds, Batch: bid, BatchToken: batchToken}}), `
			check /workers/w
			delete /jobs/states/pending/05-J
			set /jobs/J/status @7
			create /jobs/states/estimating/05-J
			check /locks @4
			check /batches/B/status @3
			check /jobs/J/lock
			set /jobs/J/claims`, []error{eventstore.ErrFenced, eventstore.ErrConflict, eventstore.ErrConflict, eventstore.ErrConflict,
			layout.ErrHandOver, layout.ErrHandOver, eventstore.ErrFenced, layout.ErrHandOver}},
		"promise under a term": {one(promises, layout.Inputs{}), `
			check /space @9
			delete /jobs/states/provisioning/05-J
			set /jobs/J/status @7
			create /jobs/states/downloading/05-J
			create /space/J`, []error{eventstore.ErrFenced, eventstore.ErrConflict, eventstore.ErrConflict, eventstore.ErrConflict, layout.ErrNewerNodes}},
		"promise that is there already": {one(promises, layout.Inputs{NewerNodes: map[string]bool{root.Promise(jid): true}}), `
			check /space @9
			delete /jobs/states/provisioning/05-J
			set /jobs/J/status @7
			create /jobs/states/downloading/05-J
			set /space/J`, nil},
		"first row": {one(creates, rows(0))[:5], `
			set /batches/B/progress @6
			create /batches/B/states
			create /batches/B/states/batch-processing
			create /batches/B/states/batch-failed
			create /batches/B/states/batch-completed`, nil},
		"later row": {one(creates, rows(4))[:2], "set /batches/B/progress @6\n create /jobs/J", nil},
		"repair": {one(repair, layout.Inputs{}), `
			delete /jobs/J/lock @-2
			delete /jobs/states/held/05-J
			set /jobs/J/status @7
			create /jobs/J/priority`, []error{eventstore.ErrLocked, eventstore.ErrConflict, eventstore.ErrConflict, eventstore.ErrConflict}},
		"lead":   {root.Lead("relay-00", "w"), "check /workers/w\n lock /leaders/relay-00", []error{eventstore.ErrFenced, eventstore.ErrLocked}},
		"resign": {root.Resign("relay-00", "w"), "check /workers/w\n delete /leaders/relay-00", nil},
		"permit": {root.TakePermit(eventstore.PermitOf{Name: "example.org:443"}, 3, "w"), "check /workers/w\n lock /hosts/3f56b5fb01044d4144568708c6a52c9a1a00d28d4c17722dd405e3e910fc49f4-3",
			[]error{eventstore.ErrFenced, eventstore.ErrLocked}},
		"returned permit": {root.ReturnPermit(eventstore.PermitOf{Name: "example.org:443"}, 3, "w"), "check /workers/w\n delete /hosts/3f56b5fb01044d4144568708c6a52c9a1a00d28d4c17722dd405e3e910fc49f4-3", nil},
		"term":            {root.LeadSpace("w"), "check /workers/w\n set /space", []error{eventstore.ErrFenced, eventstore.ErrFenced}},
		"next bucket":     {root.NextBucket(2, 7), "set /outbox/02/b0000000007 @0\n create /outbox/02/b0000000008\n set /outbox/02", nil},
		"end of a batch": {root.RemoveBatch(bid), `
			delete /batches/B/submission
			delete /batches/B/status
			delete /batches/B`, nil},
	} {
		if d := cmp.Diff(lines(c.want), short(c.ops)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		for i, want := range c.refusals {
			if got := c.ops.Refusal(i); !errors.Is(got, want) || !errors.Is(want, got) {
				t.Errorf("%s: operation %d stands for %q, want %q", name, i, got, want)
			}
		}
	}
}

// TestTokenAfter: a write makes the token one more, and what was made has none.
func TestTokenAfter(t *testing.T) {
	t.Parallel()
	move, _ := jobChange(t, jobIn("pending", ""), domain.AcceptJob{}, domain.Facts{})
	made, _ := jobChange(t, domain.Job{}, domain.CreateJob{}, domain.Facts{})
	repaired, again := move, move
	repaired.Observed = &eventstore.Observed{Nodes: eventstore.Nodes{"/jobs/" + string(jid) + "/status": "{}"}}
	again.Observed = &eventstore.Observed{}
	for name, c := range map[string]struct {
		change eventstore.Change
		want   eventstore.Token
	}{"move": {move, token + 1}, "creation": {made, 0}, "repair": {repaired, token + 1}, "repair without a status": {again, 0}} {
		if got := root.TokenAfter(&c.change); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
