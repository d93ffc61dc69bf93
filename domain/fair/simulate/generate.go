package simulate

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Load is what Generate makes arrivals of.
type Load struct {
	Users    int           // at least 1
	Deposits int           // of all users together
	Skew     float64       // exponent of the Zipf distribution of users, 0 = all deposit alike
	Servers  int           // that are to serve them, at least 1
	Use      float64       // how many servers the deposits would keep busy, for each server; above 1 the queue grows
	Service  time.Duration // mean of what a deposit takes; it is distributed exponentially
}

// Generate returns arrivals at random: the user k, from 1, has a share of 1/k to the
// power of the skew, and deposits arrive independently of each other. random returns
// numbers from 0 to below 1.
func Generate(l Load, random func() float64) []Arrival {
	upTo, sum := make([]float64, l.Users), 0.0
	for k := range upTo {
		sum += math.Pow(float64(k+1), -l.Skew)
		upTo[k] = sum
	}
	exponential := func(mean float64) time.Duration { return time.Duration(-math.Log(1-random()) * mean) }
	between := float64(l.Service) / (float64(l.Servers) * l.Use)
	width := len(fmt.Sprint(l.Users))
	arrivals, now := make([]Arrival, l.Deposits), time.Duration(0)
	for i := range arrivals {
		now += exponential(between)
		k, _ := slices.BinarySearch(upTo, random()*sum)
		arrivals[i] = Arrival{User: fmt.Sprintf("user%0*d", width, min(k, l.Users-1)+1), At: now, Service: exponential(float64(l.Service))}
	}
	return arrivals
}
