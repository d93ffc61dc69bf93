package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// slotsAndDirectories adds so many slots and polled directories of the dataset nights, and one of
// each of the dataset stones, which is of another collection; base is where the directories are.
func (in *installation) slotsAndDirectories(base string, things int) {
	in.t.Helper()
	in.profileOfRocks("")
	in.says(0, words("dataset add nights --profile test --reason images"))
	in.says(0, words("dataset add stones --profile rocks --reason samples"))
	for n := range things {
		in.says(0, words(fmt.Sprintf("slot add nights %d --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z", n)))
		in.says(0, words(fmt.Sprintf("discover add %s/%d/ --name night%d --dataset nights --every 1h --reason images", base, n, n)))
	}
	in.says(0, words("slot add stones 1 --from 2127-01-01T00:00Z --to 2127-01-02T00:00Z"))
	in.says(0, words("discover add http://stones.invalid/ --name stones --dataset stones --every 1h --reason samples"))
}

// TestBulkActionsOfSlots: slots are ended and opened again with a new end of their windows, and
// directories paused, polled and removed, by one bulk action each whose process is killed: each
// once. They are selected as `slot ls` and `discover ls` select them; what was added after the
// request is not.
// Shows: P1 P2
func TestBulkActionsOfSlots(t *testing.T) {
	t.Parallel()
	const things = 5
	in := newInstallation(t, append(slices.Clone(forProcesses), "stop_grace=100ms", "zookeeper_session_timeout=4s")...)
	base := webServer(t, http.NotFoundHandler())
	at, err := url.Parse(base)
	in.must(err)
	in.slotsAndDirectories(base, things)
	s := in.serve("--roles", "relay,projector")
	s.works()
	in.shown()
	s.stop()

	for bad, why := range map[string]string{
		"slot close --state done --reason x": "is not one of", "slot close --host a --reason x": "no condition of slots",
		"slot close --state PENDING": "needs a reason", "slot close --state PENDING --to 2126-01-03 --reason x": "is no priority", "slot close --state PENDING --to 7 --reason x": "does not fit", "slot open --state DONE --to soon --reason x": "soon",
		"discover run --since 1h": "no condition of directories", "discover rm --code x --reason x": "no condition of directories", "discover pause --state polled": "needs a reason", "discover run": "at least one condition",
	} {
		in.says(2, words("bulk begin "+bad+" --dry-run"), why)
	}
	for filter, want := range map[string]string{
		"slot close --reason x --dataset nights": "5 slots", "slot close --reason x --collection rocks": "1 slot\n", "slot close --reason x --profile test": "5 slots", "slot close --reason x --state ACTIVE": "0 slots",
		"slot close --reason x --since 2126-06-01": "1 slot\n", "slot close --reason x --older-than 2126-06-01": "5 slots", "slot close --reason x --code none": "0 slots",
		"discover run --dataset nights": "5 directories", "discover run --collection rocks": "1 directory\n", "discover run --profile test": "5 directories", "discover run --state paused": "0 directories",
		"discover run --host stones.invalid": "1 directory\n", "discover run --host " + at.Host: "5 directories",
	} {
		in.says(0, words("bulk begin --dry-run "+filter), "the filter selects "+want)
	}

	id := in.isCutOff("5 slots", 2, words("bulk begin slot close --dataset nights --state PENDING --reason clouds")...)
	in.says(0, words("slot add nights late --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z"))
	in.given(in.finishes(id, things, 0), domain.EventSlotMissed, things)
	if n := in.count(`select count(*) from accession.slot where status = 'PENDING'`); n != 2 {
		t.Errorf("%d slots are left, want that of another dataset and the one that came later", n)
	}
	id = in.isCutOff("5 slots", 2, words("bulk begin slot open --state MISSED --to 2126-01-03T00:00Z --reason stars")...)
	in.given(in.finishes(id, things, 0), domain.EventSlotOpened, things)
	if n := in.count(`select count(*) from accession.slot where status = 'ACTIVE' and closes_at = '2126-01-03T00:00Z' and reason_message = 'stars'`); n != things {
		t.Errorf("%d slots are open until then, want %d", n, things)
	}
	in.says(0, words("bulk begin slot open --state ACTIVE --reason x --dry-run"), "the filter selects 5 slots", "would be refused: ")

	id = in.isCutOff("5 directories", 3, append(words("bulk begin discover pause --reason moved --host"), at.Host)...)
	in.says(0, words("discover add "+base+"/late/ --name zlate --dataset nights --every 1h --reason images"))
	in.given(in.finishes(id, things, 0), domain.EventSettingChanged, things)
	in.says(0, words("bulk begin discover pause --state paused --reason x --dry-run"), "would be refused: discovery night0 is set so already")
	in.says(0, words("bulk begin discover run --state paused --dry-run"), "would be refused: the discovery night0 is paused")
	id = in.isCutOff("2 directories", 1, words("bulk begin discover run --state polled")...)
	in.finishes(id, 2, 0)
	if n := in.count(`select count(*) from record.discovery where asked_at is not null and name in ('stones', 'zlate')`); n != 2 {
		t.Errorf("%d directories were asked for, want 2", n)
	}
	id = in.isCutOff("5 directories", 2, words("bulk begin discover rm --dataset nights --state paused --reason over")...)
	in.given(in.finishes(id, things, 0), domain.EventSettingChanged, things)
	if n := in.count(`select count(*) from accession.setting where kind = 'discovery' and status = 'set' and name in ('stones', 'zlate')`); n != 2 {
		t.Errorf("%d directories are left, want 2", n)
	}
}

// TestBulkActionsInCollections: a bulk action about slots or directories selects those of the
// collections in which its user acts, when it is requested and when it is carried out, as the
// command about one is allowed there.
func TestBulkActionsInCollections(t *testing.T) {
	t.Parallel()
	const things = 2
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.slotsAndDirectories("http://nights.invalid", things)
	olga, oscar := in.keyOf("olga", "operator", "--collection", "test", "--collection", "rocks"), in.keyOf("oscar", "operator", "--collection", "rocks")
	rita := in.keyOf("rita", "reader", "--all")
	s := in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector) // no bulk action is carried out
	d := in.doorOf(s)
	in.shown()

	const closes, pauses = `{"kind":"slot","verb":"close","filter":{"state":"PENDING"},"reason":"clouds"}`, `{"kind":"discover","verb":"pause","filter":{"state":"polled"},"reason":"moved"}`
	begun := map[string]string{}
	for _, request := range []string{closes, pauses} {
		d.ask(rita, "POST", "/v1/bulk-actions?dry_run=true", request).is(d, 403, app.Forbidden)
		for user, selected := range map[string]int64{olga: things + 1, oscar: 1} {
			var would bulk.Action
			d.ask(user, "POST", "/v1/bulk-actions?dry_run=true", request).into(d, &would)
			if *would.Matched != selected || int64(len(would.First)) != selected || would.First[0].Change == nil {
				t.Errorf("%+v, want %d selected", would, selected)
			}
		}
		var now bulk.Action
		d.ask(olga, "POST", "/v1/bulk-actions", request).into(d, &now)
		begun[request] = now.ID
	}
	d.ask(oscar, "POST", "/v1/bulk-actions", `{"kind":"discover","verb":"pause","filter":{"dataset":"nights"},"reason":"x"}`).is(d, 404, app.NotFound)
	in.says(0, words("user withdraw olga operator --collection test"))
	s.stop()
	in.serveInProcess()
	for request, id := range begun {
		if now := in.ends(id); now.State != bulk.Done || now.Done != 1 || now.Refused != 0 {
			t.Errorf("%s: %+v, want 1 done", request, now)
		}
	}
	in.shown()
	if n := in.count(`select count(*) from accession.slot where dataset = 'nights' and status = 'PENDING'`); n != things {
		t.Errorf("%d slots of a collection whose right was withdrawn are left, want %d", n, things)
	}
	in.says(0, words("discover ls --state paused"), "stones")
	if n := in.count(`select count(*) from accession.setting where kind = 'discovery' and name like 'night%' and version = 1`); n != things {
		t.Errorf("%d directories of a collection whose right was withdrawn are as they were, want %d", n, things)
	}
}
