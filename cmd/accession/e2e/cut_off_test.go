package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// A process that cannot reach ZooKeeper for longer than its session lives has ended its
// requests to servers of depositors by itself before another process gets its permits, and
// works on when it has ZooKeeper back.
// Shows: P11 P5
func TestPermitsOfAProcessThatIsCutOff(t *testing.T) {
	t.Parallel()
	const most, deposits = 3, 9
	in := newForProcesses(t, "attempts: 20, timeout: 1h", fmt.Sprint("host_permits=", most), "fetch_response_timeout=30m", "zookeeper_session_timeout=5s")
	bad := newHolder(t, http.MethodGet, false)
	for range deposits {
		in.depositBy("mallory", bad.URL+"/bad", domain.TypeFile)
	}
	cable := newCable(t, in.settings["zookeeper"])
	first := in.serve("--set=zookeeper=" + cable.address())
	bad.holds(t, most)
	in.settles() // all else waits for the server
	second := in.serve()
	second.works()
	cable.shuts(true)
	waitFor(t, "the permits of the process that is cut off", func() bool { _, _, began, _ := bad.counts(); return began == 2*most })
	if _, atMost, _, ended := bad.counts(); atMost != most || ended != most {
		t.Fatalf("%d requests were held at most, %d have ended, and %d steps may use the server", atMost, ended, most)
	}
	if log := first.log.String(); !strings.Contains(log, "is cut off") || strings.Contains(log, "zookeeper session lost") {
		t.Errorf("its log does not say that it is cut off, or more than it can know")
	}
	cable.shuts(false)
	waitFor(t, "a new session", func() bool { return in.workersOf(first) == 1 })
	second.kill()
	waitFor(t, "the permits of the killed process", func() bool { held, _, began, _ := bad.counts(); return held == most && began == 3*most })
	if _, atMost, _, _ := bad.counts(); atMost != most {
		t.Errorf("%d requests were held at most, and %d steps may use the server", atMost, most)
	}
	bad.answer(deposits * deposits)
	in.reach(domain.EventBatchCompleted, deposits)
}
