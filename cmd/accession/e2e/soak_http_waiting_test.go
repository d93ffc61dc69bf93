//go:build soak && linux && !race

package e2e

import "testing"

// TestSoakTenThousandDepositsWait has as many deposits of one user wait as may wait without
// any setting, all of them in the deposit queue.
// Shows: P8
func TestSoakTenThousandDepositsWait(t *testing.T) { depositsWait(t, 10_000, 0) }
