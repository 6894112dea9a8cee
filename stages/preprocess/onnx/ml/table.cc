#include <algorithm>

#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

using enum AttributeKind;

// The attributes of all versions: models of an old version do not have those of later ones.
constexpr AttributeRow kThreshold[] = {{"threshold", kFloat}};
constexpr AttributeRow kCategories[] = {{"cats_int64s", kInts},
                                        {"cats_strings", kStrings},
                                        {"default_int64", kInt},
                                        {"default_string", kString}};
constexpr AttributeRow kDimensions[] = {{"inputdimensions", kInts}};
constexpr AttributeRow kImputer[] = {{"imputed_value_floats", kFloats},
                                     {"imputed_value_int64s", kInts},
                                     {"replaced_value_float", kFloat},
                                     {"replaced_value_int64", kInt}};
constexpr AttributeRow kLabels[] = {
    {"classes_strings", kStrings}, {"default_float", kFloat},    {"default_int64", kInt},
    {"default_string", kString},   {"default_tensor", kSegment}, {"keys_floats", kFloats},
    {"keys_int64s", kInts},        {"keys_strings", kStrings},   {"keys_tensor", kSegment},
    {"values_floats", kFloats},    {"values_int64s", kInts},     {"values_strings", kStrings},
    {"values_tensor", kSegment}};
constexpr AttributeRow kLinearClassifier[] = {
    {"classlabels_ints", kInts},     {"classlabels_strings", kStrings},
    {"coefficients", kFloats, true}, {"intercepts", kFloats},
    {"multi_class", kInt},           {"post_transform", kString}};
constexpr AttributeRow kLinearRegressor[] = {{"coefficients", kFloats, true},
                                             {"intercepts", kFloats},
                                             {"post_transform", kString},
                                             {"targets", kInt}};
constexpr AttributeRow kNorm[] = {{"norm", kString}};
constexpr AttributeRow kOneHot[] = {
    {"cats_int64s", kInts}, {"cats_strings", kStrings}, {"zeros", kInt}};
constexpr AttributeRow kScaler[] = {{"offset", kFloats}, {"scale", kFloats}};
constexpr AttributeRow kSvmRegressor[] = {{"coefficients", kFloats, true},
                                          {"kernel_params", kFloats},
                                          {"kernel_type", kString},
                                          {"n_supports", kInt},
                                          {"one_class", kInt},
                                          {"post_transform", kString},
                                          {"rho", kFloats},
                                          {"support_vectors", kFloats}};
constexpr AttributeRow kTreeEnsemble[] = {{"aggregate_function", kInt},
                                          {"leaf_targetids", kInts, true},
                                          {"leaf_weights", kSegment, true},
                                          {"membership_values", kSegment},
                                          {"n_targets", kInt},
                                          {"nodes_falseleafs", kInts, true},
                                          {"nodes_falsenodeids", kInts, true},
                                          {"nodes_featureids", kInts, true},
                                          {"nodes_hitrates", kSegment},
                                          {"nodes_missing_value_tracks_true", kInts},
                                          {"nodes_modes", kSegment, true},
                                          {"nodes_splits", kSegment, true},
                                          {"nodes_trueleafs", kInts, true},
                                          {"nodes_truenodeids", kInts, true},
                                          {"post_transform", kInt},
                                          {"tree_roots", kInts, true}};
constexpr AttributeRow kTreeClassifier[] = {{"base_values", kFloats},
                                            {"base_values_as_tensor", kSegment},
                                            {"class_ids", kInts},
                                            {"class_nodeids", kInts},
                                            {"class_treeids", kInts},
                                            {"class_weights", kFloats},
                                            {"class_weights_as_tensor", kSegment},
                                            {"classlabels_int64s", kInts},
                                            {"classlabels_strings", kStrings},
                                            {"nodes_falsenodeids", kInts},
                                            {"nodes_featureids", kInts},
                                            {"nodes_hitrates", kFloats},
                                            {"nodes_hitrates_as_tensor", kSegment},
                                            {"nodes_missing_value_tracks_true", kInts},
                                            {"nodes_modes", kStrings},
                                            {"nodes_nodeids", kInts},
                                            {"nodes_treeids", kInts},
                                            {"nodes_truenodeids", kInts},
                                            {"nodes_values", kFloats},
                                            {"nodes_values_as_tensor", kSegment},
                                            {"post_transform", kString}};
constexpr AttributeRow kTreeRegressor[] = {{"aggregate_function", kString},
                                           {"base_values", kFloats},
                                           {"base_values_as_tensor", kSegment},
                                           {"n_targets", kInt},
                                           {"nodes_falsenodeids", kInts},
                                           {"nodes_featureids", kInts},
                                           {"nodes_hitrates", kFloats},
                                           {"nodes_hitrates_as_tensor", kSegment},
                                           {"nodes_missing_value_tracks_true", kInts},
                                           {"nodes_modes", kStrings},
                                           {"nodes_nodeids", kInts},
                                           {"nodes_treeids", kInts},
                                           {"nodes_truenodeids", kInts},
                                           {"nodes_values", kFloats},
                                           {"nodes_values_as_tensor", kSegment},
                                           {"post_transform", kString},
                                           {"target_ids", kInts},
                                           {"target_nodeids", kInts},
                                           {"target_treeids", kInts},
                                           {"target_weights", kFloats},
                                           {"target_weights_as_tensor", kSegment}};

constexpr AttributeRow kVocabulary[] = {{"int64_vocabulary", kInts},
                                        {"string_vocabulary", kStrings}};
constexpr AttributeRow kZipMap[] = {{"classlabels_int64s", kInts},
                                    {"classlabels_strings", kStrings}};

constexpr ExpandRow kRows[] = {
    {"ArrayFeatureExtractor", "X Y", "Z", {}, expand_array_feature_extractor},
    {"Binarizer", "X", "Y", kThreshold, expand_binarizer},
    {"CategoryMapper", "X", "Y", kCategories, expand_category_mapper},
    {"DictVectorizer", "X", "Y", kVocabulary, expand_dict_vectorizer},
    {"FeatureVectorizer", "X ...", "Y", kDimensions, expand_feature_vectorizer},
    {"Imputer", "X", "Y", kImputer, expand_imputer},
    {"LabelEncoder", "X", "Y", kLabels, expand_label_encoder},
    {"LinearClassifier", "X", "Y Z?", kLinearClassifier, expand_linear_classifier},
    {"LinearRegressor", "X", "Y", kLinearRegressor, expand_linear_regressor},
    {"Normalizer", "X", "Y", kNorm, expand_normalizer},
    {"OneHotEncoder", "X", "Y", kOneHot, expand_one_hot_encoder},
    {"SVMRegressor", "X", "Y", kSvmRegressor, expand_svm_regressor},
    {"Scaler", "X", "Y", kScaler, expand_scaler},
    {"TreeEnsemble", "X", "Y", kTreeEnsemble, expand_tree_ensemble},
    {"TreeEnsembleClassifier", "X", "Y Z?", kTreeClassifier, expand_tree_ensemble_classifier},
    {"TreeEnsembleRegressor", "X", "Y", kTreeRegressor, expand_tree_ensemble_regressor},
    {"ZipMap", "X", "Z", kZipMap, expand_zip_map},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

}  // namespace

const ExpandRow* find_ml_operator(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kRows, name, std::ranges::less(), &ExpandRow::name);
  return row == std::end(kRows) || row->name != name ? nullptr : row;
}

}  // namespace sluice
