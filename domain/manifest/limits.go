package manifest

// Limits bound what [Parse] accepts. The zero value has all defaults.
type Limits struct {
	MaxBytes     int // of the file; 0 = 64 MiB
	MaxRows      int // 0 = 100,000
	MaxLineBytes int // of one line, line end included; 0 = 64 KiB

	// StoreURLs lets rows name uploads in the object store (store:///KEY). Only
	// for manifests that the service wrote itself: a depositor could read other
	// people's uploads with them.
	StoreURLs bool
}

func (l Limits) withDefaults() Limits {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	set(&l.MaxBytes, 64<<20)
	set(&l.MaxRows, 100_000)
	set(&l.MaxLineBytes, 64<<10)
	return l
}
