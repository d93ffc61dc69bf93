// Package zklive keeps the live state in ZooKeeper: the tree, the one multi that
// every change is, claims, holds, the outbox and the id blocks. It is the only code
// that speaks to ZooKeeper.
//
// Main path: commit.go turns a change into one multi, settle.go finds out what became
// of one whose answer was lost, outbox.go keeps committed events until the relay has
// taken them to the log, claims.go is the right to move a batch or a job. What a
// state looks like as nodes, and a change as operations, is pure: internal/layout.
// The connection and its sessions are internal/session; what verify and restore need
// is recovery.
//
// Beside the main path stand the optimisations, each behind what it speeds up: group
// commit (internal/session), hand-over, the hints of the outbox, the caches of holds
// and of batches' statuses, and the indexes by which work is found without listing
// queues.
//
// The tree, below one configurable root:
//
//	/batches/BID/{submission,status,progress,status-report,lock}
//	/batches/BID/states/{batch-processing,batch-failed,batch-completed}/JID
//	/jobs/JID/{configuration,identifiers,metadata,status,priority,space_needed,claims,lock}
//	/jobs/states/STATE/PP-JID
//	/outbox/SHARD/BUCKET/e-SEQUENCE   /outbox/SHARD/mark
//	/workers/ID   /leaders/NAME   /ids/{bid,jid}   /space/JID
//	/locks/collections/NAME   /locks/queue/NAME   /config/versions/NAME
package zklive
