package follow_test

import "github.com/accession-ingest/accession/domain"

// exampleLog makes the log that the example reads: three jobs whose objects are
// stored, among other events.
func exampleLog() *log {
	url, err := natsURL()
	if err != nil {
		panic(err)
	}
	l, err := openLog(url)
	if err != nil {
		panic(err)
	}
	for n := range int64(3) {
		job := domain.NewJobID(n + 1)
		if err := l.append(waiting(n+1, 1), message(domain.EventJobProcessed, job.Aggregate(), 2, 1, &domain.JobProcessed{
			JobMove: domain.JobMove{From: domain.JobProcessing, To: domain.JobRecording},
			Object:  domain.StoredObject{Primary: "ark:/99999/fk4" + string('a'+rune(n)), Version: 1, Files: 2, Bytes: 1000 * (n + 1)}})); err != nil {
			panic(err)
		}
	}
	return l
}
