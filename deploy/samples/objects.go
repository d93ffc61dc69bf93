package samples

// Object is one of the objects in the batch.
type Object struct {
	Name    string // also the directory of its files and the name of its manifest
	LocalID string // several are separated by ;
	Creator string
	Title   string
	Date    string
	// Fails reports whether the object is meant to fail.
	Fails bool

	algorithm string
	files     []file
}

// file is one row of an object's manifest.
type file struct {
	name     string
	mimeType string
	digest   digest
}

// digest says which digest of a file a manifest has.
type digest int

const (
	right digest = iota
	none         // depositors leave it out at times
	wrong        // intended: the deposit must fail
)

// Objects lists the objects of the batch, in the order of its manifest.
func Objects() []Object {
	return []Object{
		{
			Name: "tides-north", LocalID: "demo:tides-north; gauge:N1", Date: "2024-02",
			Title: "Tide gauge readings at the north pier", Creator: "Harbour Office, Tide Gauge Network",
			algorithm: "sha-256",
			files: []file{
				{"data/2024-01.csv", "text/csv", right}, {"data/2024-02.csv", "text/csv", right},
				{"README.txt", "text/plain", none}, {"metadata.xml", "application/xml", right},
			},
		}, {
			Name: "tides-south", LocalID: "demo:tides-south", Date: "2024-01",
			Title: "Tide gauge readings at the south mole", Creator: "Harbour Office, Tide Gauge Network",
			algorithm: "md5",
			files: []file{
				{"data/2024-01.csv", "text/csv", right}, {"README.txt", "text/plain", right},
				{"metadata.xml", "application/xml", right},
			},
		}, {
			Name: "harbour-chart", LocalID: "demo:harbour-chart", Date: "1978",
			Title: "Chart of the inner harbour", Creator: "Harbour Office, Survey Department",
			algorithm: "sha-512",
			files: []file{
				{"chart.png", "image/png", right}, {"legend.txt", "text/plain", right},
				{"metadata.xml", "application/xml", right},
			},
		}, {
			Name: "watch-log", LocalID: "demo:watch-log", Date: "1962-02-16",
			Title: "Watch log of the pilot station, transcription", Creator: "Pilot Station",
			algorithm: "sha-1",
			files: []file{
				{"pages/001.txt", "text/plain", right}, {"pages/002.txt", "text/plain", right},
				{"README.txt", "text/plain", none},
			},
		}, {
			Name: "sea-temperature", LocalID: "demo:sea-temperature", Date: "2023-06",
			Title: "Water temperature at buoy 2", Creator: "Coastal Observatory",
			algorithm: "sha-256",
			files: []file{
				{"temperature.csv", "text/csv", right}, {"stations.json", "application/json", right},
				{"README.txt", "text/plain", right},
			},
		}, {
			Name: "wrong-digest", LocalID: "demo:wrong-digest", Date: "2024-03", Fails: true,
			Title: "Intended failure: wrong digest", Creator: "Harbour Office, Tide Gauge Network",
			algorithm: "sha-256",
			files:     []file{{"data.csv", "text/csv", wrong}, {"README.txt", "text/plain", right}},
		},
	}
}
