package e2e

import (
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestKeysOfWork: what is requested again under its key is the same entry; other work under
// the key is refused with the entry that has it, by the live state and by the tables; a dry run says so
// before, and requests nothing.
func TestKeysOfWork(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	request := func(dataset, group, input string) []string {
		return words("compute submit --dataset " + dataset + " --group " + group + " --key one --input https://data.example.org/" + input)
	}
	try := append(request("tides", "2026", "a.nc"), "--dry-run")
	in.says(0, try, "work is requested, and waits in the compute queue with the priority 100", "nothing was changed")
	in.says(2, append(try, "--input", "https://data.example.org/b.nc?token=1"), "cannot be an input")
	in.says(0, request("tides", "2026", "a.nc"), "eid0000000001 PENDING")
	for _, shown := range []bool{false, true} {
		if shown {
			in.serveInProcess(run.RoleRelay, run.RoleProjector)
			in.shown()
		}
		in.says(0, append(request("tides", "2026", "a.nc"), "--priority", "7"), "eid0000000001 PENDING")
		in.says(0, try, "nothing is requested: it is there as eid0000000001", "nothing was changed")
		in.says(3, append(try, "--input", "https://data.example.org/b.nc"), `the key "one" is that of eid0000000001`)
		for _, other := range [][]string{request("maps", "2026", "a.nc"), request("tides", "2027", "a.nc"), request("tides", "2026", "b.nc"),
			append(request("tides", "2026", "a.nc"), "--input", "https://data.example.org/b.nc")} {
			in.says(3, other, `the key "one" is that of eid0000000001`, "accession compute show eid0000000001")
		}
	}
	if n := in.count("select count(*) from accession.compute_entry"); n != 1 {
		t.Errorf("%d entries", n)
	}
}
