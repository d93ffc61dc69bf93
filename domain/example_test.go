package domain_test

import (
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// One job, decided and folded: commands become events, events become the state. A
// command that the table does not allow is refused, with what would be possible.
func Example() {
	job := domain.Job{ID: domain.NewJobID(42)}
	for _, cmd := range []domain.JobCommand{
		domain.CreateJob{Configuration: domain.Configuration{BatchID: domain.NewBatchID(7)}, Priority: domain.PriorityDefault},
		domain.AcceptJob{},
		domain.EstimateJob{Files: 2, Bytes: 4096, Priority: 10},
		domain.CompleteJob{Callback: "none"},
	} {
		decision, err := domain.DecideJob(job, cmd, domain.Facts{})
		if err != nil {
			fmt.Println("refused:", err)
			continue
		}
		for _, event := range decision.Events {
			if job, err = domain.EvolveJob(job, domain.Recorded{Event: event}); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(decision.Row, event.Type, event.ID(), "→", job.State, job.QueueEntry())
		}
	}
	// Output:
	// J1 job.created job/jid0000000042/1 → pending 05-jid0000000042
	// J4 job.accepted job/jid0000000042/2 → estimating 05-jid0000000042
	// J6 job.estimated job/jid0000000042/3 → provisioning 10-jid0000000042
	// refused: job/jid0000000042 is provisioning: complete is not possible (possible from here: downloading, failed)
}
