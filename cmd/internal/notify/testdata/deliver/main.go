// Command deliver puts one mail into the drop directory that its argument names.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/notify"
)

func main() {
	_, err := (notify.MailDrop{Dir: os.Args[1]}).Deliver(notify.Message{
		Key: "k", From: "ingest@archive.test", To: []string{"one@lab.test"},
		Subject: "report", Text: "all of it\n", Date: time.Unix(1_700_000_000, 0),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
