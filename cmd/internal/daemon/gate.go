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
	return g.Take(ctx, b.Submission.Submitter, limits.Known(fetch.Host(b.Submission.PayloadURL))...)
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

func (r *Runner) servers(d Daemon, j domain.Job) []string {
	p, err := r.cfg.Profiles.Get(j.Configuration.ProfileName)
	return limits.ServersOf(d.Job, j, p, err == nil, err == nil && r.steps.OwnStore(p))
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
			Message: "it waits for " + full + ": other jobs wait for that server already, and some workers are kept for those who wait for others, or it has asked to be left alone"}, hostCycle)
		out.server = full
		return out, false
	}
	return out, true
}
