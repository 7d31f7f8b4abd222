from labelgrove.ontology.labelgraph import LabelGraph as LabelGraph
from labelgrove.ontology.readers import ReadResult as ReadResult
from labelgrove.ontology.readers import Report as Report
from labelgrove.ontology.readers import read as read
