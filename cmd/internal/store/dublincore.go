package store

import (
	"encoding/xml"
	"fmt"
)

// DublinCoreName is the name of the description that is added to each object.
const DublinCoreName = "accession-dc.xml"

// DublinCore is a description in the simple Dublin Core elements. Empty values
// are left out.
type DublinCore struct {
	Title, Creator, Date, Publisher []string
	Identifier                      []string
	Format, Type                    []string
}

type dcXML struct {
	XMLName    xml.Name `xml:"metadata"`
	Namespace  string   `xml:"xmlns:dc,attr"`
	Title      []string `xml:"dc:title"`
	Creator    []string `xml:"dc:creator"`
	Publisher  []string `xml:"dc:publisher"`
	Date       []string `xml:"dc:date"`
	Type       []string `xml:"dc:type"`
	Format     []string `xml:"dc:format"`
	Identifier []string `xml:"dc:identifier"`
}

// Encode writes the description as XML in UTF-8.
func (d DublinCore) Encode() ([]byte, error) {
	body, err := xml.MarshalIndent(dcXML{
		Namespace: "http://purl.org/dc/elements/1.1/",
		Title:     filled(d.Title), Creator: filled(d.Creator), Publisher: filled(d.Publisher), Date: filled(d.Date),
		Type: filled(d.Type), Format: filled(d.Format), Identifier: filled(d.Identifier),
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode Dublin Core: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

func filled(in []string) []string {
	var out []string
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
