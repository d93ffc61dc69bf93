package zklive

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestMoveIsTheDifferenceOfImages: what a job's move does to the tree is what the
// images of the job before and after say.
func TestMoveIsTheDifferenceOfImages(t *testing.T) {
	t.Parallel()
	s := &Store{paths: "/r"}
	var jobs []domain.Job
	for _, state := range domain.JobStates {
		j := domain.Job{ID: domain.NewJobID(1), State: state, Version: 3, Priority: 5,
			Configuration: domain.Configuration{BatchID: domain.NewBatchID(2), ProfileName: "maps"}}
		jobs = append(jobs, j)
		j.Priority, j.SpaceNeeded, j.Identifiers.Primary, j.CommandID = 9, 77, "ark:/1", "c"
		jobs = append(jobs, j)
		j.Cleaned, j.Metadata.ErcWhat, j.Identifiers.LocalID = true, "Tides", []string{"a"}
		j.Reason, j.Configuration.ProfileName = &domain.Reason{Class: domain.ClassWait, Code: "x"}, "other"
		jobs = append(jobs, j)
	}
	for _, before := range jobs {
		for _, after := range jobs {
			after.Version++ // so that the status differs, as it always does
			p := &plan{}
			s.planMove(p, eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: before, To: after}, Token: 7})
			var got difference
			for _, op := range p.ops {
				switch o := op.(type) {
				case *zk.CreateRequest:
					got.create = append(got.create, o.Path)
				case *zk.DeleteRequest:
					got.del = append(got.del, o.Path)
				case *zk.SetDataRequest:
					got.set = append(got.set, o.Path)
				}
			}
			for _, list := range [][]string{got.create, got.del, got.set} {
				slices.Sort(list)
			}
			want := diff(s.paths.jobImage(before), s.paths.jobImage(after))
			for _, list := range [][]string{want.create, want.del} {
				slices.Sort(list)
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(difference{})); d != "" {
				t.Fatalf("%s → %s (-image +move):\n%s", before.State, after.State, d)
			}
			image := s.paths.jobImage(after)
			for _, op := range p.ops {
				if o, ok := op.(*zk.SetDataRequest); ok && string(o.Data) != string(image[o.Path]) {
					t.Errorf("%s: %s, want %s", o.Path, o.Data, image[o.Path])
				}
			}
		}
	}
}
