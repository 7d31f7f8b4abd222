from labelgrove.ontology.geometry.covers.checks import Cover as Cover
from labelgrove.ontology.geometry.covers.checks import is_identifying_cover as is_identifying_cover
from labelgrove.ontology.geometry.covers.checks import is_locus_cover as is_locus_cover
from labelgrove.ontology.geometry.covers.checks import is_nontrivial as is_nontrivial
from labelgrove.ontology.geometry.covers.covermethods import locus_cover as locus_cover
from labelgrove.ontology.geometry.covers.minimum import minimum_locus_cover as minimum_locus_cover
from labelgrove.ontology.geometry.covers.phylogenetic import phylogenetic_cover as phylogenetic_cover
from labelgrove.ontology.geometry.covers.required import MustObserve as MustObserve
from labelgrove.ontology.geometry.covers.required import must_observe as must_observe
from labelgrove.ontology.geometry.frechet import frechet_mean as frechet_mean
from labelgrove.ontology.geometry.frechet import frechet_mean_set as frechet_mean_set
from labelgrove.ontology.geometry.frechet import frechet_variance as frechet_variance
from labelgrove.ontology.geometry.frechet import make_scorer as make_scorer
from labelgrove.ontology.geometry.loci.locusmethods import locus as locus
from labelgrove.ontology.geometry.loci.members import Locus as Locus
from labelgrove.ontology.geometry.loci.pairs import geodesic_interval as geodesic_interval
from labelgrove.ontology.geometry.loci.pairs import is_pairwise_decomposable as is_pairwise_decomposable
from labelgrove.ontology.geometry.sampling import sample_observed as sample_observed
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer as Scorer
from labelgrove.ontology.geometry.selections.selection import Selection as Selection
from labelgrove.ontology.geometry.selections.selection import select_classes as select_classes
from labelgrove.ontology.geometry.selections.selection import select_next as select_next
from labelgrove.ontology.geometry.spaces.bulkdistances import pairwise_distances as pairwise_distances
from labelgrove.ontology.geometry.spaces.choosing import metric_space as metric_space
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace as CompleteSpace
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace as EuclideanSpace
from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace as GraphSpace
from labelgrove.ontology.geometry.spaces.matrixspace import MatrixSpace as MatrixSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace as MetricSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace as TreeSpace
from labelgrove.ontology.geometry.summaries.expand import expand as expand
from labelgrove.ontology.geometry.summaries.expand import push as push
from labelgrove.ontology.geometry.summaries.summary import (
    DegenerateSummaryWarning as DegenerateSummaryWarning,
)
from labelgrove.ontology.geometry.summaries.summary import Summary as Summary
from labelgrove.ontology.geometry.summaries.summary import summarize as summarize
from labelgrove.ontology.geometry.ties import FrechetResult as FrechetResult
