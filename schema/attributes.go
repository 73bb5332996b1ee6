package schema

// The content types of a body.
const (
	ContentJSON   = "application/json"
	ContentNDJSON = "application/x-ndjson"
)

// The names of the attributes.
const (
	AttrVersion     = "v"
	AttrDatabase    = "database"
	AttrSchema      = "schema"
	AttrTable       = "table"
	AttrOp          = "op"
	AttrPosition    = "position"
	AttrCount       = "count"
	AttrContentType = "content_type"
	AttrSourceID    = "source_id"
	AttrSent        = "sent"
)

// Attributes are a message's Pub/Sub attributes. A request (RequestOp) has no
// Position, Count, SourceID and Sent; all other messages have all.
type Attributes struct {
	Version     int
	Database    string // the configuration's name of the database
	Schema      string
	Table       string
	Op          Op
	Position    Position // the highest in the message
	Count       int      // changes in the message; 1 for a control message
	ContentType string
	SourceID    string // the cluster's system identifier
	Sent        Micros // start of this publish attempt; zero until then
}
