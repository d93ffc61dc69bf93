package daemon

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// jobGate is the gate of a daemon whose steps wait for servers of others, for one claim.
type jobGate struct {
	*limits.Admission
	r *Runner
	d Daemon
}

// Enter implements eventstore.Gate.
func (g jobGate) Enter(ctx context.Context, j domain.Job) (full string) {
	servers := g.r.servers(g.d, j)
	if server := g.r.awaited.Of(j.ID); server != "" && !slices.Contains(servers, server) {
		servers = append(servers, server)
	}
	return g.Take(ctx, j.Configuration.Submitter, servers...)
}

// batchGate is the same for batches.
type batchGate struct{ *limits.Admission }

// Enter implements eventstore.Gate.
func (g batchGate) Enter(ctx context.Context, b domain.Batch) (full string) {
	return g.Take(ctx, b.Submission.Submitter, known(fetch.Host(b.Submission.PayloadURL))...)
}

// admission returns the admission of one worker of a daemon, nil = its workers are not shared.
func (r *Runner) admission(d Daemon) *limits.Admission {
	if !d.Shared || r.cfg.Workers[d.Name] == 0 {
		return nil
	}
	return r.gates.Admission(d.Name)
}

// jobGate returns the gate of a daemon, and batchGate that of one that claims batches.
func (r *Runner) jobGate(d Daemon, admission *limits.Admission) eventstore.Gate[domain.Job] {
	if admission == nil {
		return nil
	}
	return jobGate{admission, r, d}
}

func (r *Runner) batchGate(admission *limits.Admission) eventstore.Gate[domain.Batch] {
	if admission == nil {
		return nil
	}
	return batchGate{admission}
}

// servers names what a daemon waits for while it works on a job, as far as that is known
// without reading the job's manifest. An object store of a profile's own may hang like a
// depositor's server; the installation's is everybody's.
func (r *Runner) servers(d Daemon, j domain.Job) []string {
	p, err := r.cfg.Profiles.Get(j.Configuration.ProfileName)
	switch {
	case d.Job == domain.JobNotify && err == nil:
		return known(fetch.Host(p.Callback.URL))
	case (d.Job == domain.JobProcessing || d.Job == domain.JobRecording) && err == nil && r.steps.OwnStore(p):
		return []string{"the object store of profile " + p.Name}
	case d.Job == domain.JobNotify, d.Job == domain.JobProcessing, d.Job == domain.JobRecording:
		return nil
	default:
		return known(fetch.Host(j.Configuration.PayloadURL))
	}
}

// known returns a server, unless it is the installation's own object store.
func known(host string) []string {
	if host == "" {
		return nil
	}
	return []string{host}
}

// hostCycle is how long a job waits for a server of its files that holds its share of the
// workers, before it is looked at again.
const hostCycle = 2 * fullPause

// alsoAt lets the step wait for servers of its files too, instead of those of the call
// before. If one of them holds its share of the workers, or is used by as many steps as may
// use it, the job waits for it in turn, and ok is false.
func (t *JobTask) alsoAt(ctx context.Context, servers []string) (out Outcome, ok bool) {
	if t.admission == nil {
		return out, true
	}
	if full := t.admission.Also(ctx, servers...); full != "" {
		out = wait(domain.Reason{Code: domain.CodeServerBusy,
			Message: "it waits for " + full + ": other jobs wait for that server already, and some workers are kept for those who wait for others"}, hostCycle)
		out.server = full
		return out, false
	}
	return out, true
}
