// Package zklive keeps the live state in ZooKeeper: the tree, the one multi that
// every change is, claims, sessions, holds, the outbox and the id blocks. It is
// the only code that speaks to ZooKeeper.
//
// Main path: commit.go turns a change into one multi. What a state looks like as
// nodes is a pure function (image.go); a change's effect on the tree is the
// difference of two images. claim.go and index.go find and lock work without
// listing queues; session.go gives each ZooKeeper session its fence; outbox.go
// keeps committed events until the relay has taken them to the log.
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
